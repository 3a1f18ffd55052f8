import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Creates a folder that only its owner can open, whatever the umask is. An existing folder becomes such a folder. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: FOLDER_MODE });
  chmodSync(path, FOLDER_MODE);
}

/** Creates an empty file that only its owner can read. An existing file becomes such a file. The files that SQLite adds get the mode of their database. */
export function makePrivateFile(path: string): void {
  closeSync(openSync(path, "a", FILE_MODE));
  chmodSync(path, FILE_MODE);
}

/** Only the owner can read the file. A crash leaves the old or the new text. No link is followed, because another user may have left one. */
export function writePrivateFile(path: string, text: string): void {
  const draft = `${path}.new`;
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { flag: "wx", mode: FILE_MODE });
  renameSync(draft, path);
}

/** Takes the rights of others away from a file or folder, if there is one. Leaves a link as it is. */
export function makePrivate(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isSymbolicLink()) return;
  chmodSync(path, found.isDirectory() ? FOLDER_MODE : FILE_MODE);
}
