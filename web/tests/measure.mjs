// SPDX-License-Identifier: BSD-3-Clause
// measure.mjs FOLDER [--quick] - prints as JSON what bench/web.py asks for: processor seconds of
// recoveries in Node, of samples that it puts into FOLDER, bytes of memory and of the files, and
// seconds until the page is ready.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';

import { findChromium, startChromium } from './chromium.mjs';
import { serve } from './serve.mjs';
import { fieldOf, randomOf, site } from './shared.mjs';

const folder = process.argv[2], quick = process.argv.includes('--quick');
const { load } = await import(pathToFileURL(join(site, 'csrecover/index.js')));

/** A drawn picture: each channel hills and an edge. */
function pictureOf(side, channels) {
  const random = randomOf(side + channels), planes = Array.from({ length: channels }, () => fieldOf(side, side, random));
  return Uint8Array.from({ length: side * side * channels }, (_, i) => planes[i % channels][Math.floor(i / channels)]);
}

// The least of several runs: others may work on the machine.
async function least(times, run) {
  let best = Infinity, result;
  for (let i = 0; i < times; i++) {
    const start = process.cpuUsage();
    result = await run();
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1e6);
  }
  return { seconds: best, result };
}

const rows = [];
for (const [side, channels] of quick ? [[256, 1]] : [[256, 1], [256, 3], [512, 1], [512, 3]])
  for (const quality of ['fast', 'balanced']) {
    const one = await load(), shape = [side, side], times = quick ? 1 : quality === 'fast' ? 7 : 3;
    const scan = one.make(pictureOf(side, channels), { shape, channels, scale: [0, 255] });
    const keep = one.sample(shape, { rate: 0.25 }), path = join(folder, `${side}-${channels}.npz`);
    writeFileSync(path, scan.save(keep));
    await one.prepare(scan, quality);
    const { seconds: wasm } = await least(times, () => scan.recover({ keep, quality }));
    rows.push({ side, channels, quality, wasm, heap: one.heap, scan: path });
  }

const files = Object.fromEntries(['csrec.wasm', 'csrec.mjs', 'index.js', 'prior-gray.npz'].map((name) => {
  const bytes = readFileSync(join(site, 'csrecover', name));
  return [name, { bytes: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes).length }];
}));

// From the request to the module's answer, by the clock.
async function ready() {
  const { server, port } = await serve(site), chromium = await startChromium(findChromium());
  const start = performance.now();
  await chromium.command('Page.navigate', { url: `http://127.0.0.1:${port}/` });
  while (!(await chromium.evaluate("document.body?.dataset.ready === 'yes'"))) await new Promise((done) => setTimeout(done, 5));
  const taken = (performance.now() - start) / 1000;
  await chromium.close();
  server.close();
  return taken;
}

const page = findChromium() ? Math.min(await ready(), await ready(), await ready()) : null;
process.stdout.write(`${JSON.stringify({ rows, files, page, node: process.version })}\n`);
