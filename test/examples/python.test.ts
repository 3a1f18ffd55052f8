import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { botocoreTest, pythonTest } from "../support/python.ts";
import { declareProducer, declareWorker, type Programs } from "./declare-programs.ts";

const FOLDER = join(import.meta.dirname, "../../examples/python");

const programs: Programs = {
  language: "Python",
  test: pythonTest,
  signatureTest: botocoreTest,
  command: (program) => ["python3", join(FOLDER, `${program}.py`)],
  widthError: "ValueError: width must be more than 0, is 0",
  lost: /^extend: .*409/m,
};

declareWorker(programs);
declareProducer(programs);

botocoreTest("the Python programs sign calls of a domain name of one's own for AWS_REGION", () => {
  const program = `
import api
class Opener:
    def open(self, request, timeout):
        print(request.get_header("Authorization"))
        raise TimeoutError
api.opener = Opener()
try:
    api.call("https://jobs.shop.example", "GET", "/health", go_on=lambda tries: False)
except TimeoutError:
    pass
`;
  const key = { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" };
  const env = { ...process.env, ...key, AWS_REGION: "eu-west-1" };
  const printed = execFileSync("python3", ["-c", program], { cwd: FOLDER, env, encoding: "utf8" });
  expect(printed).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d+\/eu-west-1\/execute-api\//);
});
