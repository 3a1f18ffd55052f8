import { inject } from "vitest";

const urls = inject("stackUrls");

/**
 * The address of the stack that the files of this worker use. A worker runs one file after the other, so a topic that a file pauses,
 * or an action that it starts, meets no test of another file.
 */
export const stackUrl = urls[(Number(process.env.VITEST_POOL_ID) - 1) % urls.length] ?? "";
