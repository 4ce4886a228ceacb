// Preloaded into pouchdb-server, which has no TLS: passes what comes to TLS_PORT on to PORT, as the
// proxy before a CouchDB does. Key and certificate are those in FOLDER.
'use strict';

const { readFileSync } = require('fs');
const net = require('net');
const path = require('path');
const tls = require('tls');

const { TLS_PORT, PORT, FOLDER } = process.env;
const file = (name) => readFileSync(path.join(FOLDER, name));
const server = tls.createServer({ key: file('key.pem'), cert: file('server.pem') }, (outside) => {
  const inside = net.connect(Number(PORT), '127.0.0.1');
  const end = () => [outside, inside].forEach((socket) => socket.destroy());
  [outside, inside].forEach((socket) => socket.on('error', end).on('close', end));
  outside.pipe(inside).pipe(outside);
});
// Clients that do not trust the certificate, or that do not use TLS.
server.on('tlsClientError', (_, socket) => socket.destroy());
server.listen(Number(TLS_PORT), '127.0.0.1');
