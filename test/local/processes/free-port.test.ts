import { expect, test } from "vitest";
import { loopbackHost, unguessableAddress } from "../../../local/processes/free-port.ts";

test("an emulator has a hidden loopback address, except on macOS, which has only one", () => {
  for (const platform of ["linux", "win32"] as const) {
    const hosts = new Set(Array.from({ length: 20 }, () => loopbackHost(platform)));
    expect(hosts.size).toBeGreaterThan(15);
    for (const host of hosts) expect(host).toMatch(/^127\.\d+\.\d+\.\d+$/);
  }
  expect(loopbackHost("darwin")).toBe("127.0.0.1");
});

test("its port is free", async () => {
  expect((await unguessableAddress()).port).toBeGreaterThan(0);
});

test("its port is none that a system gives to outgoing connections", async () => {
  for (let tried = 0; tried < 20; tried++) expect((await unguessableAddress()).port).toBeLessThan(32_768);
});
