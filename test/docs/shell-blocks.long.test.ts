import { execFile } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import * as CloudFormation from "@aws-sdk/client-cloudformation";
import * as CloudWatch from "@aws-sdk/client-cloudwatch";
import * as CloudWatchLogs from "@aws-sdk/client-cloudwatch-logs";
import * as DynamoDb from "@aws-sdk/client-dynamodb";
import * as EventBridge from "@aws-sdk/client-eventbridge";
import * as Lambda from "@aws-sdk/client-lambda";
import * as SecretsManager from "@aws-sdk/client-secrets-manager";
import * as Sqs from "@aws-sdk/client-sqs";
import * as Sts from "@aws-sdk/client-sts";
import { afterEach, beforeEach, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { type ServedApi, serveApi } from "../cli/served-api.ts";
import { createApi } from "../support/api.ts";
import { createWorld } from "../support/world.ts";
import { blocks, ROOT } from "./blocks.ts";
import { commandFault } from "./command-fault.ts";

/** The programs of this machine that a block finds. A block that needs another program fails. */
const PROGRAMS = ["bash", "cat", "cp", "curl", "date", "node", "openssl", "sort", "uniq"];
const SECRET = Buffer.alloc(33, 7).toString("base64");

/**
 * Blocks run the real curl and command line, which call the API in memory. `later` records commands that would install, deploy, wait for
 * ever or call AWS, for `JUDGES`. A refused request ends the block with an error.
 */
const PRELUDE = `
set -euo pipefail
later() { printf '%s\\t' "$@" >> "$LATER"; printf '\\n' >> "$LATER"; }
curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
packaged() {
  case " $* " in *" --stack "* | " local "* | " console "* | " tail "* | " doctor "* | " clock "* | " event "* | " receiver-secret "*" --topic "*) later minutehand "$@"; return;; esac
  case " $* " in *" --yes "* | *" --dry-run "* | *" --key "*) ;; " cancel --topic "* | " reschedule --topic "* | " redrive "*" --from "*) set -- "$@" --yes;; esac
  node "$ROOT/src/cli/main.ts" "$@"
}
npx() { if [ "$1" = minutehand ]; then shift; packaged "$@"; else later npx "$@"; fi; }
minutehand() { if [ "$1" = completion ]; then packaged "$@"; else echo "a reader has only npx minutehand" >&2; return 127; fi; }
npm() { later npm "$@"; }
aws() { later aws "$@"; if [ "$2" = get-secret-value ]; then echo "$SECRET_TEXT"; fi; }
python3() { later python3 "$@"; }
pip() { later pip "$@"; }
git() { later git "$@"; }
sleep() { :; }
jq() { node -e "$JQ" -- "$@"; }
`;

/** Replaces jq, which a machine may not have. Does only what the pages need: `-r .field`, for each line of JSON. */
const JQ = `
const [, field] = /^[.]([a-zA-Z]+)$/.exec(process.argv[2]);
const lines = require("fs").readFileSync(0, "utf8").split("\\n").filter((line) => line !== "");
for (const line of lines) console.log(JSON.parse(line)[field]);
`;

/** Commands of the AWS CLI itself, and those of a service whose client no code needs. */
const OTHER_COMMANDS = [
  ...["logs tail", "cloudformation package", "cloudformation deploy", "s3 mb"],
  ...["sns create-topic", "sns set-topic-attributes", "sns subscribe"],
];

/** What is wrong with a recorded command; `undefined`: nothing. */
const JUDGES: Readonly<Record<string, (args: readonly string[]) => string | undefined>> = {
  npm([command = "", ...args]) {
    if (command === "run")
      return args[0] !== undefined && args[0] in packageJson.scripts ? undefined : "no such script";
    return ["ci", "test", "pack", "init", "pkg", "install", "audit"].includes(command)
      ? undefined
      : "no such command";
  },
  npx([command, verb = "", ...args]) {
    if (command === "cdk")
      return ["init", "bootstrap", "deploy", "destroy", "diff"].includes(verb)
        ? undefined
        : "no such command of the CDK";
    const file = args.at(-1) ?? "";
    return command === "vitest" && existsSync(join(ROOT, file)) ? undefined : "no such file";
  },
  aws([service, operation = ""]) {
    if (OTHER_COMMANDS.includes(`${service} ${operation}`)) return undefined;
    const clients: Record<string, object> = {
      ...{
        cloudformation: CloudFormation,
        cloudwatch: CloudWatch,
        dynamodb: DynamoDb,
        events: EventBridge,
        lambda: Lambda,
        logs: CloudWatchLogs,
      },
      ...{ secretsmanager: SecretsManager, sqs: Sqs, sts: Sts },
    };
    const name = operation.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
    return `${name}Command` in (clients[service ?? ""] ?? {}) ? undefined : "no such operation";
  },
  minutehand: commandFault,
  git: ([command]) => (command === "revert" ? undefined : "no such command"),
  pip: ([command]) => (command === "install" ? undefined : "no such command"),
  python3([file = "", module = ""]) {
    if (file === "-m") return ["flask", "pytest", "venv"].includes(module) ? undefined : "no such module";
    const isThere =
      blocks().some(({ text }) => text.startsWith(`# ${file}\n`)) ||
      [folder, join(ROOT, "examples"), join(ROOT, "examples/python")].some((parent) =>
        existsSync(join(parent, file)),
      );
    return isThere ? undefined : "no such file";
  },
};

/** What a page lets its reader set, or sets in an earlier block. */
const GIVEN = {
  ...{ TABLE: "t", QUEUE_URL: "q", FUNCTION: "f", MESSAGE: "{}", LOG: "l" },
  ...{ DLQ_URL: "d", DLQ_ARN: "a", EVENTS_URL: "e", EVENTS_DLQ: "e", EVENTS_DLQ_ARN: "e" },
  ...{ START: "2026-03-01T00:00:00Z", END: "2026-03-01T01:00:00Z" },
  ...{ SQS: "http://127.0.0.1:4501", SECRETS: "http://127.0.0.1:4502/key" },
  ...{ SECRET: "s", SECRET_ARN: "arn", OLD_VERSION: "v", alarms: "arn" },
  ...{
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "s",
    AWS_SESSION_TOKEN: "t",
  },
};

let folder: string;
let api: ServedApi;
let env: Record<string, string>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "minutehand-docs-"));
  mkdirSync(join(folder, "bin"));
  writeInstalled();
  for (const name of PROGRAMS) symlinkSync(pathOf(name), join(folder, "bin", name));
  api = await serveApi(createApi(createWorld({ topics: TOPICS })));
  env = {
    PATH: join(folder, "bin"),
    LATER: join(folder, "later"),
    ROOT,
    JQ,
    // Cache compiled code, because the command line starts some fifty times.
    NODE_COMPILE_CACHE: join(tmpdir(), "minutehand-docs-compiled"),
    URL: api.url,
    MINUTEHAND_URL: api.url,
    SECRET_TEXT: SECRET,
    ID: String((await api.file({ topic: "reminders" })).id),
    RECEIPT: await pulled(api),
    ...GIVEN,
  };
  await api.call("PUT", "/schedules/daily-report", {
    body: { topic: "reminders", body: 1, expression: "rate(1 day)" },
  });
});

afterEach(async () => {
  await api[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test.each(blocks().filter(({ kind }) => kind === "sh"))("$page:$line can be typed", async ({ text }) => {
  const shell = promisify(execFile)("bash", ["-c", PRELUDE + text], { cwd: folder, env });
  const { failed } = await shell.then(
    () => ({ failed: undefined }),
    ({ stdout, stderr }) => ({ failed: `${stdout}${stderr}` }),
  );
  expect(failed).toBeUndefined();
  const later = existsSync(env.LATER ?? "")
    ? readFileSync(env.LATER ?? "", "utf8")
        .trim()
        .split("\n")
    : [];
  const faults = later.flatMap((line) => {
    const [command = "", ...args] = line.trim().split("\t");
    const fault = JUDGES[command]?.(args);
    return fault === undefined ? [] : [`${line}: ${fault}`];
  });
  expect(faults).toEqual([]);
});

/** Writes what earlier blocks of a page have installed and written. */
function writeInstalled(): void {
  mkdirSync(join(folder, "node_modules"));
  mkdirSync(join(folder, ".venv", "bin"), { recursive: true });
  writeFileSync(join(folder, ".venv", "bin", "activate"), "");
  symlinkSync(ROOT, join(folder, "node_modules", "minutehand"));
  for (const name of ["minutehand.json", "aws.json"])
    writeFileSync(join(folder, name), JSON.stringify({ topics: { thumbnail: { consumer: "pull" } } }));
}

const TOPICS = {
  reminders: {},
  "order-timeout": {},
  reminder: {},
  receipt: {},
  refund: {},
  work: { consumer: "pull" },
  thumbnail: { consumer: "pull" },
  callbacks: { webhook: { allowHttp: true, allowHosts: ["127.0.0.1"] } },
} as const;

async function pulled({ file, receive }: ServedApi): Promise<string> {
  await file({ topic: "work", delay: 0 });
  return (await receive("work")).receipt;
}

function pathOf(program: string): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found =
    program === "node" ? process.execPath : folders.map((one) => join(one, program)).find(existsSync);
  if (found === undefined) throw new Error(`this test needs ${program}`);
  return found;
}
