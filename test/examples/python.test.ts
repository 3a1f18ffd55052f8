import { join } from "node:path";
import { botocoreTest, pythonTest } from "../support/python.ts";
import { declareProducer, declareWorker, type Programs } from "./declare-programs.ts";

const FOLDER = join(import.meta.dirname, "../../examples/python");

const programs: Programs = {
  language: "Python",
  test: pythonTest,
  signatureTest: botocoreTest,
  command: (program) => ["python3", join(FOLDER, `${program}.py`)],
  widthError: "ValueError: width must be more than 0, is 0",
  lost: /^extend: .*409/,
};

declareWorker(programs);
declareProducer(programs);
