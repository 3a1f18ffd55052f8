import { descendants, type ProcessInfo } from "./process-tree.ts";

/** How to recognise the runner's processes by their commands: the functions' names in the template, and the emulators' programs. */
const PATTERNS = {
  api: /function-process\.ts.*ApiHandler/,
  receive: /function-process\.ts.*ApiReceive/,
  consumer: /function-process\.ts.*JobsHandler/,
  tick: /function-process\.ts.*Sweeper/,
  dynamodb: /dynoxide serve|dynamodb-process/,
  sqs: /fauxqs-process\.ts/,
  guard: /guard-process\.ts/,
} as const;

export type Role = keyof typeof PATTERNS;

export const FUNCTIONS: readonly Role[] = ["api", "receive", "consumer", "tick"];

/** The role of a process in the stack. `undefined` for a process that only builds the app. */
export function roleOf({ command }: ProcessInfo): Role | undefined {
  return (Object.keys(PATTERNS) as Role[]).find((role) => PATTERNS[role].test(command));
}

export function processesOf(runnerPid: number, roles: readonly Role[]): ProcessInfo[] {
  return descendants(runnerPid).filter((process) => {
    const role = roleOf(process);
    return role !== undefined && roles.includes(role);
  });
}
