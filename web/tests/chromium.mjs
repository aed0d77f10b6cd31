// SPDX-License-Identifier: BSD-3-Clause
// chromium.mjs - a headless Chromium, driven by its debugging protocol through a pipe.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The program's name; null: none is there. */
export function findChromium() {
  const names = [process.env.CHROMIUM, 'chromium', 'chromium-browser', 'google-chrome'].filter(Boolean);
  return names.find((name) => spawnSync(name, ['--version']).status === 0) ?? null;
}

/** Starts it with a page; `command` sends a command of the protocol to that page. */
export async function startChromium(program) {
  const profile = mkdtempSync(join(tmpdir(), 'csrec-web-'));
  const child = spawn(program, ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-pipe',
    '--disable-dev-shm-usage', '--no-first-run', '--disable-background-networking',
    `--user-data-dir=${profile}`, 'about:blank'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map(), listeners = [];
  let number = 0, rest = '';
  child.stdio[4].on('data', (bytes) => {
    const parts = (rest + bytes).split('\0');
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part), request = waiting.get(message.id);
      if (!request) listeners.forEach((listen) => listen(message));
      else if (message.error) request.reject(new Error(`${request.method}: ${message.error.message}`));
      else request.resolve(message.result);
      waiting.delete(message.id);
    }
  });
  child.on('exit', () => {
    for (const request of waiting.values()) request.reject(new Error('Chromium ended'));
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++number, { resolve, reject, method });
    child.stdio[3].write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
  });
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  const command = (method, params) => send(method, params, sessionId);
  return {
    command, listeners,
    /** The value of an expression, which may be a promise, in the page. */
    async evaluate(expression) {
      const { result, exceptionDetails } = await command('Runtime.evaluate',
        { expression, awaitPromise: true, returnByValue: true });
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
      return result.value;
    },
    async close() {
      await send('Browser.close').catch(() => {});
      await new Promise((resolve) => { child.exitCode !== null ? resolve() : child.once('exit', resolve); });
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
