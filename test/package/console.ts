import { LocalError } from "../../local/local-error.ts";
import { ask } from "../console/ask.ts";
import { plainEnvironment } from "../deploy/environment.ts";
import type { Session } from "../deploy/session.ts";
import { said } from "./said.ts";

const NAME = "minutehand console";

/** Opens the console of a local stack, on the stack's own port and by `minutehand console`. `app`: the folder with the package. */
export async function openConsoles(session: Session, app: string, url: string): Promise<void> {
  session.progress(NAME);
  await expectPage(url);
  const args = ["--no-install", "minutehand", "console", "--url", url, "--port", "0"];
  const server = session.serve({ name: NAME, command: "npx", args, cwd: app, env: plainEnvironment() });
  const [, origin = "", key = ""] = await said(session, NAME, server, /(http:\S+)\/console#key=(\S+)/);
  await expectPage(origin);
  const answered = await ask(origin, "/topics", { headers: { "x-minutehand-key": key } });
  if (answered.status !== 200) throw new LocalError(`GET /topics through the console: ${answered.text}`);
  await server.stop();
}

async function expectPage(origin: string): Promise<void> {
  const page = await ask(origin, "/console");
  const files = [...page.text.matchAll(/(?:src|href)="(\/console\/[^"]*)"/g)].map(([, path = ""]) => path);
  const answers = await Promise.all(files.map((path) => ask(origin, path)));
  if (page.status === 200 && files.length >= 2 && answers.every(({ status }) => status === 200)) return;
  throw new LocalError(
    `${origin}/console answered ${page.status}, and its files ${files.join(", ") || "are missing"}`,
  );
}
