import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import tsconfig from "./tsconfig.json" with { type: "json" };

const { paths } = tsconfig.compilerOptions;
/** Vitest does not run projects with different numbers of workers together, so the other projects run after `template`. */
const AFTER_TEMPLATE = { groupOrder: 1 };

// For each app that it synthesises, the CDK loads all schemas of CloudFormation, which takes three seconds of CPU time. Programs
// that tests start inherit this variable. test/deploy/app.test.ts turns the validation on again, and treats its findings as errors.
process.env.CDK_VALIDATION = "false";

// Tests start some hundred processes of Node. With cached compiled code, a command of the command line takes half the CPU time.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "node_modules", ".cache", "minutehand-tests");

/** The test files that wait longest for their jobs. They begin first, and the other files run while they wait. */
const FIRST = /\/e2e\/(?:kill|on-time)\.test\.ts$/;

class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { waiting = [], others = [] } = Object.groupBy(await super.sort(files), ({ moduleId }) =>
      FIRST.test(moduleId) ? "waiting" : "others",
    );
    return [...waiting, ...others];
  }
}

/**
 * `unit`: pure rules, the protocol over the in-memory services, and the programs. `security`: hostile input, and the content of logs
 * and roles. Files of `security` replace modules, so each file has a worker of its own. `contract`: each port's suite against
 * the services in memory, the simulator's services and the emulators. `sim`: histories of the simulator. `template`: the synthesised
 * templates. `e2e`: the embedded stack over HTTP. `browser`: the console in Chromium, over the embedded stack, and the calculator. `life`: deployments
 * one after the other, to the place that `npm run test:deploy` chooses.
 */
export default defineConfig({
  // The examples import the package by its name.
  resolve: {
    alias: Object.fromEntries(
      Object.entries(paths).map(([name, [source = ""]]) => [name, join(import.meta.dirname, source)]),
    ),
  },
  test: {
    // Tests spend most of their time waiting until jobs fall due, so run many files at once, also the longest.
    maxWorkers: 12,
    sequence: { sequencer: WaitingFirst },
    globalSetup: ["test/temporary-folder.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          sequence: AFTER_TEMPLATE,
          // The files of a worker share its loaded modules, because loading took a third of the CPU time. So a test must undo its
          // changes to the process, and a module must not keep the state of one queue for the next.
          isolate: false,
          include: [
            "test/layers.test.ts",
            "test/docs/{pages,rooms,shell-blocks,words}.test.ts",
            "test/{types,cli,core,cron,general,examples,protocol,client,consumer,environment,functions,http,local,console,bench,deploy,package,properties,site,testing,torture}/**/*.test.ts",
          ],
          exclude: ["test/testing/memory-*.test.ts"],
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        extends: true,
        test: {
          name: "security",
          sequence: AFTER_TEMPLATE,
          include: ["test/security/**/*.test.ts"],
          testTimeout: 60_000,
          expect: { poll: { timeout: 30_000 } },
        },
      },
      {
        test: {
          name: "contract",
          sequence: AFTER_TEMPLATE,
          include: ["test/aws/**/*.test.ts", "test/testing/memory-*.test.ts", "test/sim/services.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: "sim",
          sequence: AFTER_TEMPLATE,
          // Let Node load the sources. In Vitest's own modules each use of an import calls a getter, and histories use imports in loops.
          experimental: { viteModuleRunner: false, nodeLoader: false },
          include: [
            "test/sim/simulate.test.ts",
            "test/sim/world/*.test.ts",
            "test/sim/alarms/*.test.ts",
            "test/sim/mutants/*.test.ts",
          ],
          testTimeout: 60_000,
        },
      },
      {
        test: {
          name: "template",
          // The CDK takes seconds to load, so load it once and not for each file.
          isolate: false,
          maxWorkers: 1,
          include: ["test/infra/**/*.test.ts", "test/docs/{tables,code-blocks}.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "e2e",
          sequence: AFTER_TEMPLATE,
          include: ["test/e2e/**/*.test.ts"],
          testTimeout: 290_000,
          hookTimeout: 120_000,
          globalSetup: ["test/e2e/setup.ts"],
        },
      },
      {
        test: {
          name: "browser",
          expect: { poll: { timeout: 20_000 } },
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          globalSetup: ["test/browser/setup.ts"],
          // Pages and the stack share two cores. More pages at once would only make each of them slow.
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "life",
          sequence: AFTER_TEMPLATE,
          include: ["test/life/**/*.test.ts"],
          testTimeout: 600_000,
        },
      },
    ],
  },
});
