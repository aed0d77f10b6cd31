// SPDX-License-Identifier: BSD-3-Clause
// serve.mjs [FOLDER [PORT]] - a static server of this machine alone, as for the tests of the page.
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript',
  '.css': 'text/css', '.wasm': 'application/wasm', '.png': 'image/png', '.svg': 'image/svg+xml',
  '.txt': 'text/plain', '.json': 'application/json' };
const POLICY = "default-src 'self' 'wasm-unsafe-eval'";

/** asked: receives the paths of all requests. */
export function serve(folder, port = 0, asked = []) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, 'http://x').pathname));
    asked.push(path);
    const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
      'content-security-policy': POLICY, 'cache-control': 'no-store' });
    createReadStream(file).pipe(response);
  });
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => resolve({ server, port: server.address().port }));
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { port } = await serve(process.argv[2] ?? 'build-wasm/site', Number(process.argv[3] ?? 8000));
  console.log(`http://127.0.0.1:${port}/`);
}
