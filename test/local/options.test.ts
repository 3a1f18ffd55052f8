import { expect, test } from "vitest";
import { parseCommandLine } from "../../local/options.ts";

test("the defaults", () => {
  expect(parseCommandLine([])).toEqual({
    help: false,
    port: 4500,
    reset: false,
    dataDir: ".minutehand",
    app: undefined,
    watch: true,
  });
});

test("everything given", () => {
  const args = ["--port", "0", "--reset", "--data", "there", "--app", "node app.ts", "--no-watch", "--help"];
  expect(parseCommandLine(args)).toEqual({
    help: true,
    port: 0,
    reset: true,
    dataDir: "there",
    app: "node app.ts",
    watch: false,
  });
});

test.each([
  [["--prot", "1"], "Unknown option '--prot'"],
  [["something"], "Unexpected argument 'something'"],
  [["--port", "65536"], '--port must be a number from 0 to 65535, not "65536"'],
  [["--port", "1e3"], '--port must be a number from 0 to 65535, not "1e3"'],
  [["--port"], "Option '--port <value>' argument missing"],
])("%j is refused in one line", (args, message) => {
  expect(() => parseCommandLine(args)).toThrow(message);
  expect(() => parseCommandLine(args)).toThrow(/^.*$/);
});
