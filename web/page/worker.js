// SPDX-License-Identifier: BSD-3-Clause
// worker.js - holds the module and the signal that the page shows; answers one request at a time.
import { load } from './csrecover/index.js';
import { MOST, tooLarge } from './picture.js';

let one = null, scan = null;

async function start() {
  one ??= await load();
  return { version: one.version };
}

// An array [H, W, 3] may be a picture or a volume: the page shows pictures.
function readAny(bytes, name) {
  try {
    return one.read(bytes, { name });
  } catch (error) {
    for (const axes of ['channels-last', 'none'])
      try {
        const read = one.read(bytes, { name, axes });
        if (read.shape.length === 2) return read;
        read.close();
      } catch { /* the first message is that of the file as it is */ }
    throw error;
  }
}

// What the page cannot show, before the picture that it has is let go.
function refusalOf({ shape, channels, entries }, name) {
  if (shape.length !== 2)
    return `${name}: has ${shape.length === 1 ? 'one axis' : `${shape.length} axes`}, and the page shows ` +
      'pictures of two; recover it with csrecover or Python';
  return entries * channels > MOST ? tooLarge(name, shape, channels) : null;
}

function facts() {
  return { shape: scan.shape, channels: scan.channels, scale: scan.scale, bits: scan.bits,
           notes: scan.notes };
}

const requests = {
  start,
  async open({ name, bytes, pixels }) {
    await start();
    const read = pixels ? one.make(pixels.data, { ...pixels, scale: [0, 255] }) : readAny(bytes, name);
    const refusal = refusalOf(read, name);
    if (refusal) read.close();
    if (refusal) throw new Error(refusal);
    scan?.close();
    scan = read;
    return { ...facts(), values: scan.values() };
  },
  mask({ name, bytes }) {
    return scan.mask(bytes, { name });
  },
  sample(options) {
    return one.sample(scan.shape, options);
  },
  plan(options) {
    return scan.plan(options);
  },
  async recover({ truth, ...options }, tell) {
    const result = await scan.recover({ ...options, onProgress: tell });
    const compared = truth ? scan.compare(truth, result.data) : null;
    return { ...result, compared, heap: one.heap };
  },
  expect({ data, ...options }, tell) {
    return scan.expect(data, { ...options, onProgress: tell });
  },
  write({ data, name }) {
    return scan.write(data, name);
  },
  writeMask({ keep, name }) {
    const mask = one.make(keep, { shape: scan.shape, scale: [0, 1] });
    try {
      return mask.write(Float64Array.from(keep), name);
    } finally {
      mask.close();
    }
  },
  save({ keep }) {
    return scan.save(keep);
  },
};

// Arrays of a result are handed over, not copied.
function buffersOf(value) {
  const parts = ArrayBuffer.isView(value) ? [value] : Object.values(value ?? {});
  return parts.filter((part) => ArrayBuffer.isView(part)).map((part) => part.buffer);
}

onmessage = async ({ data: { id, what, ...given } }) => {
  try {
    const result = await requests[what](given, (progress) => postMessage({ id, progress }));
    postMessage({ id, result }, buffersOf(result));
  } catch (error) {
    postMessage({ id, error: { message: error.message, code: error.code ?? 'FAILED' } });
  }
};
