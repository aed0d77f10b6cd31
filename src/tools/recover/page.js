// SPDX-License-Identifier: BSD-3-Clause
// page.js - the script of the report page. The part of the pictures that is seen has its corner at
// (x, y) and the extent 1 / zoom, as shares of the whole; style variables hand it to all pictures
// at once.
(function () {
  'use strict';
  const by = id => document.getElementById(id);
  const pictures = by('pictures'), compare = by('compare');
  if (!compare) return;
  let zoom = 1, x = 0, y = 0, drag = null, moved = false;
  const clamp = v => Math.min(Math.max(v, 0), 1 - 1 / zoom);
  function show() {
    x = clamp(x);
    y = clamp(y);
    pictures.style.setProperty('--zoom', zoom);
    pictures.style.setProperty('--x', x);
    pictures.style.setProperty('--y', y);
    pictures.classList.toggle('zoomed', zoom > 1);
    by('zoom').textContent = zoom + ' \u00d7';
  }
  // (u, v): the point of the frame that stays where it is.
  function magnify(factor, u, v) {
    const next = Math.min(Math.max(zoom * factor, 1), 64);
    x += u / zoom - u / next;
    y += v / zoom - v / next;
    zoom = next;
    show();
  }
  function move(u, v) {
    x += u / zoom;
    y += v / zoom;
    show();
  }
  by('in').onclick = () => magnify(2, 0.5, 0.5);
  by('out').onclick = () => magnify(0.5, 0.5, 0.5);
  by('whole').onclick = () => magnify(0, 0, 0);
  function watch(frame) {
    const place = e => {
      const box = frame.getBoundingClientRect();
      return [(e.clientX - box.left) / box.width, (e.clientY - box.top) / box.height];
    };
    frame.tabIndex = 0;
    frame.setAttribute('role', 'group');
    frame.setAttribute('aria-label', 'Picture: plus, minus and arrow keys magnify and move');
    frame.ondragstart = e => e.preventDefault();
    frame.onpointerdown = e => { drag = place(e); moved = false; };
    frame.onpointermove = e => {
      if (!drag) return;
      const now = place(e), du = drag[0] - now[0], dv = drag[1] - now[1];
      if (!moved) moved = Math.hypot(du, dv) > 0.01;
      if (!moved) return;
      move(du, dv);
      drag = now;
    };
    frame.onclick = e => { if (!moved) magnify(2, ...place(e)); };
    frame.onkeydown = e => {
      const step = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[e.key];
      const factor = { '+': 2, '-': 0.5 }[e.key];
      if (factor) magnify(factor, 0.5, 0.5);
      if (!step) return;
      move(...step);
      e.preventDefault();
    };
  }
  window.addEventListener('pointerup', () => { drag = null; });
  const frame = compare.querySelector('.frame'), left = by('left');
  const copy = id => by(id).querySelector('img').cloneNode();
  const part = name => {
    const made = document.createElement('div');
    made.className = name;
    return made;
  };
  const over = part('over');
  over.append(copy('recovery'));
  document.querySelectorAll('figure[data-look]').forEach(figure =>
    left.append(new Option(figure.querySelector('b').textContent, figure.id)));
  left.onchange = () => frame.replaceChildren(copy(left.value), over, part('line'));
  left.selectedIndex = left.options.length - 1;
  left.onchange();
  frame.style.cssText = by('recovery').querySelector('.frame').style.cssText;
  by('cut').oninput = e => compare.style.setProperty('--cut', e.target.value + '%');
  document.querySelectorAll('.frame').forEach(watch);
  by('tools').hidden = compare.hidden = false;
  show();
})();
