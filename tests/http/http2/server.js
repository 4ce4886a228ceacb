// A Node.js HTTP/2 server, which shares no code with springload's client, and reports its requests
// on another port, over HTTP/1.1. Its one argument is JSON: `mode` (h2c, tls, http1, tls_both,
// tls_http1 or tls_bare), `cert` and `key`, `settings`.
"use strict";
const http = require("http");
const http2 = require("http2");
const https = require("https");
const fs = require("fs");
const tls = require("tls");
const zlib = require("zlib");

const given = JSON.parse(process.argv[2]);
const told = {
  connections: 0, open: 0, requests: 0, answered: 0, most: 0, resets: {}, whats: {}, last: {},
  goaways: 0, pings: 0,
};
let now = 0;
const perSession = new Map();
const sockets = new Map();

const count = (of, name) => { of[name] = (of[name] || 0) + 1; };

function serve(stream, headers) {
  const session = stream.session;
  told.requests += 1;
  now += 1;
  told.most = Math.max(told.most, now);
  const path = headers[":path"];
  count(told.whats, headers[":method"] + " " + path);
  told.last = headers;
  const nth = (perSession.get(session) || 0) + 1;
  perSession.set(session, nth);
  stream.on("error", () => {});
  stream.on("close", () => {
    now -= 1;
    if (stream.rstCode) count(told.resets, path + " " + stream.rstCode);
  });
  const [, what, number] = path.split("?")[0].split("/");
  const reply = (more, body) => {
    if (stream.destroyed) return;
    told.answered += 1;
    stream.respond({ ":status": 200, ...more });
    stream.end(body);
  };
  switch (what) {
    case "slow":
      return void setTimeout(() => reply({}, "late"), Number(number));
    case "big":
      return reply({}, Buffer.alloc(Number(number), "x"));
    case "endless": {
      stream.respond({ ":status": 200 });
      const piece = Buffer.alloc(16384, "x");
      const more = () => { while (!stream.destroyed && stream.write(piece)); };
      stream.on("drain", more);
      return more();
    }
    case "reset":
      return stream.close(Number(number));
    case "midway":
      stream.respond({ ":status": 200 });
      stream.write("begun");
      return void setTimeout(() => stream.destroy(new Error("midway")), 20);
    case "bye":
      // After this many requests, the server sends GOAWAY: later ones are not processed.
      if (nth > Number(number)) {
        return;
      }
      if (nth === Number(number)) {
        told.goaways += 1;
        session.goaway(0, stream.id);
        setTimeout(() => session.destroy(), 100);
      }
      return reply({}, "bye");
    case "die":
      return sockets.get(session.socket.remotePort).destroy();
    case "status":
      return reply({ ":status": Number(number) }, "as asked");
    case "redirect":
      return reply({ ":status": 302, location: "/landed" }, "");
    case "cookie":
      return reply({ "set-cookie": "flavour=oat; Path=/" }, "");
    case "cached":
      return reply({ age: "7", "retry-after": "3" }, "");
    case "gzip":
      return reply({ "content-encoding": "gzip" }, zlib.gzipSync("plain words"));
    case "broken":
      return reply({ "content-encoding": "gzip" }, "not gzip at all");
    case "login":
      return reply({ "content-type": "application/json", etag: "\"e1\"" }, "{\"token\":\"t-17\"}");
    case "headers":
      return reply({ "x-long": "h".repeat(Number(number)) }, "");
    case "length":
      return reply({ "content-length": number }, "12345");
    case "early":
      stream.respond({ ":status": 413 });
      stream.end("too much");
      return;
    case "body": {
      let bytes = 0;
      stream.on("data", (piece) => { bytes += piece.length; });
      return void stream.on("end", () => reply({}, JSON.stringify({ bytes })));
    }
    default:
      stream.resume();
      return reply({}, "hello");
  }
}

function listen(server, done) {
  server.listen(0, "127.0.0.1", () => done(server.address().port));
}

const pair = () => ({ key: fs.readFileSync(given.key), cert: fs.readFileSync(given.cert) });
const plain = (_, answer) => answer.end("only HTTP/1.1");
const servers = {
  h2c: () => http2.createServer({ settings: given.settings || {} }),
  tls: () => http2.createSecureServer({ ...pair(), settings: given.settings || {} }),
  // Both protocols, as negotiated.
  tls_both: () => http2.createSecureServer({ ...pair(), allowHTTP1: true }, (request, answer) => {
    if (request.httpVersionMajor === 1) answer.end("hello");
  }),
  http1: () => http.createServer(plain),
  // It does not support ALPN, so nothing is negotiated.
  tls_bare: () => tls.createServer(pair(), (socket) => {
    socket.on("error", () => {});
    socket.on("data", () => {
      told.requests += 1;
      socket.end("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
  }),
  tls_http1: () => https.createServer(pair(), plain),
};
const server = servers[given.mode]();
server.on("connection", (socket) => {
  socket.on("error", () => {});
  const port = socket.remotePort;
  sockets.set(port, socket);
  socket.on("close", () => {
    told.open -= 1;
    sockets.delete(port);
  });
  told.connections += 1;
  told.open += 1;
});
server.on("session", (session) => {
  session.on("error", () => {});
  session.on("close", () => perSession.delete(session));
});
server.on("stream", serve);
server.on("sessionError", () => {});

const control = http.createServer((request, answer) => {
  if (request.url === "/ping") {
    for (const session of perSession.keys()) {
      session.ping(() => { told.pings += 1; });
    }
  }
  answer.end(JSON.stringify(told));
});
listen(server, (port) => listen(control, (asked) => console.log(`UP ${port} ${asked}`)));
