import { descendants, type ProcessInfo } from "./process-tree.ts";

/** The processes below the runner: by their functions' names in the template, and by the emulators' programs. */
const PATTERNS = {
  api: /runtime\.ts.*ApiHandler/,
  receive: /runtime\.ts.*ApiReceive/,
  consumer: /runtime\.ts.*JobsHandler/,
  tick: /runtime\.ts.*Sweeper/,
  dynamodb: /dynoxide serve/,
  sqs: /fauxqs\.ts/,
  guard: /guard\.ts/,
} as const;

export type Role = keyof typeof PATTERNS;

export const FUNCTIONS: readonly Role[] = ["api", "receive", "consumer", "tick"];

/** What a process does in the stack; `undefined` for one that only the building of the app starts. */
export function roleOf({ command }: ProcessInfo): Role | undefined {
  return (Object.keys(PATTERNS) as Role[]).find((role) => PATTERNS[role].test(command));
}

/** The runner's processes of these roles. */
export function processesOf(runnerPid: number, roles: readonly Role[]): ProcessInfo[] {
  return descendants(runnerPid).filter((process) => {
    const role = roleOf(process);
    return role !== undefined && roles.includes(role);
  });
}
