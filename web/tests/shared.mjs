// SPDX-License-Identifier: BSD-3-Clause
// shared.mjs - what the tests share: folders, the native tools, .npy files, drawn signals.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const site = process.env.CSREC_WEB_SITE ?? join(root, 'build-wasm/site');
const native = process.env.CSREC_WEB_NATIVE ?? join(root, 'build-cpu');
export const example = join(root, 'samples/example.png');
export const seed = Number(process.env.CSREC_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.error(`seed ${seed} (CSREC_TEST_SEED=${seed} repeats this run)`);

const plain = join(native, 'web/csrecover_plain');
export const withoutNative = existsSync(plain) && existsSync(join(native, 'cssample')) ? false
  : 'the native tools are not built: web/test.sh builds them';

/** A folder for a test's files. */
export function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), 'csrec-web-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return (name) => join(folder, name);
}

export function cssample(...words) {
  execFileSync(join(native, 'cssample'), [...words, '--quiet']);
}

/** csrecover of plain C with one thread; its exp and cos without fused multiply-adds. */
export function csrecover(...words) {
  const env = { ...process.env, OMP_NUM_THREADS: '1',
    GLIBC_TUNABLES: 'glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable' };
  const { status, stdout, stderr } = spawnSync(plain, [...words, '--quiet'], { env, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

/** The doubles of a .npy of float64. */
export function readNpy(path) {
  const bytes = readFileSync(path), length = bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, 10 + length);
  if (!header.includes("'<f8'")) throw new Error(`${path}: ${header}`);
  const count = header.match(/\(([^)]*)\)/)[1].split(',').filter((word) => word.trim()).reduce((a, b) => a * b, 1);
  const from = bytes.byteOffset + 10 + length;
  return new Float64Array(bytes.buffer.slice(from, from + 8 * count));
}

/** The bytes of a .npy of doubles. */
export function npyOf(values, shape) {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.map((n) => `${n},`).join(' ')}), }`;
  const header = Buffer.alloc(Math.ceil((11 + text.length) / 64) * 64, ' ');
  header.write('\x93NUMPY\x01\0', 'latin1');
  header.writeUInt16LE(header.length - 10, 8);
  header.write(text, 10);
  header[header.length - 1] = 10;
  return Buffer.concat([header, Buffer.from(Float64Array.from(values).buffer)]);
}

/** Numbers in [0, 1) from the seed (mulberry32). */
export function randomOf(start) {
  let a = start >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A field of hills and an edge, [height][width], of values about 100. */
export function fieldOf(height, width, random) {
  const [a, b, c, d] = [random(), random(), random(), random()];
  return Float64Array.from({ length: height * width }, (_, i) => {
    const u = (i % width) / width, v = Math.floor(i / width) / height;
    return 100 + 40 * Math.sin(6 * (u + a)) * Math.cos(5 * (v + b)) + (u + c * v > d + 0.4 ? 30 : 0);
  });
}

/** How many of two arrays differ, and by how much at most. */
export function compare(a, b) {
  if (a.length !== b.length) throw new Error(`${a.length} values and ${b.length}`);
  let count = 0, most = 0;
  for (let i = 0; i < a.length; i++)
    if (!Object.is(a[i], b[i])) {
      count++;
      most = Math.max(most, Math.abs(a[i] - b[i]));
    }
  return { count, most };
}
