// SPDX-License-Identifier: BSD-3-Clause
// view.js - signals as pixels of a canvas.

/** Values of black and white: those of the picture, else the least and the largest known value. */
export function tonesOf(values, scale) {
  if (scale) return scale;
  let low = Infinity, high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return high > low ? [low, high] : [Number.isFinite(low) ? low : 0, (Number.isFinite(low) ? low : 0) + 1];
}

/** RGBA of a signal; transparent where it is NaN, or not kept. */
export function pixelsOf(values, channels, [low, high], keep = null) {
  const n = values.length / channels, rgba = new Uint8ClampedArray(4 * n);
  const gain = 255 / (high - low), colours = channels === 3;
  for (let i = 0; i < n; i++) {
    const at = i * channels;
    if (keep && !keep[i]) continue;
    if (!colours && Number.isNaN(values[at])) continue;
    for (let c = 0; c < 3; c++) rgba[4 * i + c] = (values[at + (colours ? c : 0)] - low) * gain;
    rgba[4 * i + 3] = 255;
  }
  return rgba;
}

/** For each entry the root mean square difference of its channels, NaN where one is not known. */
export function errorsOf(truth, values, channels) {
  const n = values.length / channels, errors = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let c = 0; c < channels; c++) sum += (truth[i * channels + c] - values[i * channels + c]) ** 2;
    errors[i] = Math.sqrt(sum / channels);
  }
  return errors;
}

/** The value that all but a share of a hundredth are below: the end of the colours of errors. */
export function endOf(errors) {
  const known = errors.filter((e) => e > 0).sort();
  return known.length ? known[Math.floor(0.99 * (known.length - 1))] : 1;
}

// Black, blue, red, yellow, white: brighter is worse, in print, too.
const HEAT = [[0, 0, 0], [40, 50, 150], [190, 50, 80], [250, 170, 40], [255, 255, 230]];

export function heatOf(errors, end) {
  const rgba = new Uint8ClampedArray(4 * errors.length);
  for (let i = 0; i < errors.length; i++) {
    if (Number.isNaN(errors[i])) continue;
    const at = Math.min(errors[i] / end, 1) * (HEAT.length - 1), k = Math.min(Math.floor(at), HEAT.length - 2);
    for (let c = 0; c < 3; c++) rgba[4 * i + c] = HEAT[k][c] + (at - k) * (HEAT[k + 1][c] - HEAT[k][c]);
    rgba[4 * i + 3] = 255;
  }
  return rgba;
}
