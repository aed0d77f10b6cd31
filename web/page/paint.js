// SPDX-License-Identifier: BSD-3-Clause
// paint.js - the brush on the canvas: pointer, or arrow keys and the space bar.

/** Calls paint(x, y, radius) in pixels of the picture, for each place that a stroke passes. */
export function attachBrush(canvas, cursor, size, paint) {
  let last = null, at = { x: 0, y: 0 };
  const radius = () => Math.max(size() / 2, 0.5);

  function show() {
    const box = canvas.getBoundingClientRect(), scale = box.width / canvas.width;
    cursor.hidden = false;
    cursor.style.left = `${at.x * scale}px`;
    cursor.style.top = `${at.y * scale}px`;
    cursor.style.width = cursor.style.height = `${Math.max(2 * radius() * scale, 4)}px`;
  }

  function place(event) {
    const box = canvas.getBoundingClientRect();
    at = { x: (event.clientX - box.left) * canvas.width / box.width,
           y: (event.clientY - box.top) * canvas.height / box.height };
    show();
  }

  function stroke() {
    const from = last ?? at, steps = Math.max(1, Math.ceil(Math.hypot(at.x - from.x, at.y - from.y) /
                                                           Math.max(radius() / 2, 0.5)));
    for (let k = 1; k <= steps; k++)
      paint(from.x + (at.x - from.x) * k / steps, from.y + (at.y - from.y) * k / steps, radius());
    last = { ...at };
  }

  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    place(event);
    stroke();
  });
  canvas.addEventListener('pointermove', (event) => {
    place(event);
    if (last) stroke();
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => { last = null; });
  canvas.addEventListener('pointerleave', () => { cursor.hidden = true; });
  canvas.addEventListener('blur', () => { cursor.hidden = true; });

  const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener('keydown', (event) => {
    const move = moves[event.key];
    if (!move && event.key !== ' ') return;
    event.preventDefault();
    const step = event.shiftKey ? 1 : Math.max(1, radius());
    if (move) {
      at.x = Math.min(Math.max(at.x + move[0] * step, 0), canvas.width - 1);
      at.y = Math.min(Math.max(at.y + move[1] * step, 0), canvas.height - 1);
    } else {
      last = null;
      stroke();
      last = null;
    }
    show();
  });
}
