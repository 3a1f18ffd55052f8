import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export type Listener = { pid: number; protocol: string; address: string; port: number };

/** `st` of a TCP socket that listens, and of a UDP socket that takes from anyone ("/proc/net/tcp", proc(5)). */
const OPEN: Readonly<Record<string, string>> = { tcp: "0A", tcp6: "0A", udp: "07", udp6: "07" };
/** 127.0.0.0/8, ::1 and ::ffff:127.0.0.0/104, each four bytes in the machine's order. */
const LOOPBACK = /^(?:[0-9A-F]{6}7F|0{24}01000000|0{16}FFFF0000[0-9A-F]{6}7F)$/;

/** With those of all descendants. Throws without /proc, because a test that finds no listeners there must not pass. */
export function listenersOf(root: number): Listener[] {
  if (process.platform !== "linux") {
    throw new Error(
      `listening sockets are read from /proc, which ${process.platform} has not: run this on Linux`,
    );
  }
  const owners = new Map<string, number>();
  for (const pid of familyOf(root)) for (const inode of socketsOf(pid)) owners.set(inode, pid);
  return Object.entries(OPEN).flatMap(([protocol, state]) => {
    const [, ...lines] = readFileSync(`/proc/net/${protocol}`, "utf8").trim().split("\n");
    return lines.flatMap((line) => {
      const [, local = "", , st, , , , , , inode = ""] = line.trim().split(/\s+/);
      const [address = "", port = ""] = local.split(":");
      const pid = owners.get(inode);
      return st === state && pid !== undefined
        ? [{ pid, protocol, address, port: Number.parseInt(port, 16) }]
        : [];
    });
  });
}

/** The dotted name of an IPv4 address as /proc writes it: four bytes in the machine's order. */
export function dotted(address: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(address.slice(at, at + 2), 16)).join(".");
}

export function beyondLoopback(listeners: readonly Listener[]): Listener[] {
  return listeners.filter(({ address }) => !LOOPBACK.test(address));
}

export function familyOf(root: number): number[] {
  const children = Map.groupBy(processes(), ({ parent }) => parent);
  const family = [root];
  for (const pid of family) family.push(...(children.get(pid) ?? []).map((child) => child.pid));
  return family;
}

function processes(): { pid: number; parent: number }[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const stat = whileThere(() => readFileSync(`/proc/${name}/stat`, "utf8"));
    // The command's name may contain spaces and parentheses. The state and the parent follow the last parenthesis.
    const [, , parent] = stat?.slice(stat.lastIndexOf(")")).split(" ") ?? [];
    return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
  });
}

function socketsOf(pid: number): string[] {
  const descriptors = whileThere(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return descriptors.flatMap((fd) => {
    const link = whileThere(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? "";
    return /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? [];
  });
}

/** A process or descriptor may be gone between two looks. */
function whileThere<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
