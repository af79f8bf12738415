// Records the digests of the sources and of the built files; a test compares them without Node.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const SOURCES = ["package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "record.mjs", "src"];
const BUILT = "../built";

function filesBelow(path) {
  try {
    return readdirSync(path).flatMap((name) => filesBelow(join(path, name)));
  } catch (error) {
    if (error.code === "ENOTDIR") return [path];
    throw error;
  }
}

function digest(paths) {
  const hash = createHash("sha256");
  for (const path of paths.sort()) {
    hash.update(path.replace(`${BUILT}/`, "") + "\0");
    hash.update(readFileSync(path));
    hash.update("\0");
  }
  return hash.digest("hex");
}

const record = {
  sources: digest(SOURCES.flatMap(filesBelow)),
  built: digest(["viewer.css", "viewer.js"].map((name) => join(BUILT, name))),
};
writeFileSync(join(BUILT, "record.json"), JSON.stringify(record, null, 2) + "\n");
