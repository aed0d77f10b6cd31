// SPDX-License-Identifier: BSD-3-Clause
// picture.js - files that the browser decodes: JPEG, WebP and others, which the module does not read.

/** Values that a page recovers: so many take about a gigabyte. */
export const MOST = 2 ** 24;

const ascii = (bytes, from, text) => [...text].every((c, i) => bytes[from + i] === c.charCodeAt(0));

/** Whether the first bytes are those of a picture of the browser's. */
export function isDecoded(bytes) {
  return (bytes[0] === 0xff && bytes[1] === 0xd8) || ascii(bytes, 0, 'GIF8') || ascii(bytes, 0, 'BM') ||
    (ascii(bytes, 0, 'RIFF') && ascii(bytes, 8, 'WEBP')) || ascii(bytes, 4, 'ftypavi');
}

/** { data, shape, channels, mask }: red, green and blue, or gray; pixels of alpha 0 are not known. */
export async function decode(bytes, name) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(new Blob([bytes]), { premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  } catch {
    throw new Error(`${name}: the browser cannot decode this picture; save it as a PNG`);
  }
  const { width, height } = bitmap, n = width * height;
  if (n > MOST) throw new Error(tooLarge(name, [height, width], 1));
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  context.drawImage(bitmap, 0, 0);
  const rgba = context.getImageData(0, 0, width, height).data;
  let gray = true;
  for (let i = 0; i < n && gray; i++) gray = rgba[4 * i] === rgba[4 * i + 1] && rgba[4 * i] === rgba[4 * i + 2];
  const channels = gray ? 1 : 3, data = new Uint8Array(n * channels), mask = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    for (let c = 0; c < channels; c++) data[i * channels + c] = rgba[4 * i + c];
    mask[i] = rgba[4 * i + 3] ? 1 : 0;
  }
  return { data, shape: [height, width], channels, mask };
}

export function tooLarge(name, shape, channels) {
  return `${name}: ${shape.join(' x ')}${channels > 1 ? ` of ${channels} channels` : ''} is more than the ` +
    `${Math.floor(MOST / 1e6)} million values that a page recovers; make it smaller, or use csrecover`;
}
