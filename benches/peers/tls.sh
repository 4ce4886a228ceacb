# shellcheck shell=bash disable=SC2154,SC2034 # sourced by peers.sh, which sets the variables
# TLS 1.3: nginx, with one process on the server's core, answers by itself. All tools use the same
# cipher, the only one that it offers.

nginx=$(command -v nginx || { [ ! -x /usr/sbin/nginx ] || echo /usr/sbin/nginx; })

# nginx's own count of requests, without those that ask for it.
count_nginx() {
    local line total
    exec 3<>"/dev/tcp/127.0.0.1/$status_port" || return 1
    printf 'GET /status-%s HTTP/1.0\r\n\r\n' "$$" >&3
    total=
    while IFS= read -r -t 5 line; do
        [[ $line =~ ^\ ([0-9]+)\ ([0-9]+)\ ([0-9]+) ]] && total=${BASH_REMATCH[3]}
    done <&3
    exec 3>&-
    [ -n "$total" ] || return 1
    echo >>"$work/looks"
    echo $((total - $(wc -l <"$work/looks")))
}
nginx_answers() { (count_nginx requests) >/dev/null; }

# In the background on $port, with a free port of its own for its count.
launch_nginx() {
    local document
    document=$(printf '{"_id":"x","_rev":"1-967a00dff5e02add41819138abb3284d","pad":"%0187d"}' 0)
    status_port=$(free_port)
    : >"$work/looks"
    cat >"$work/nginx.conf" <<CONF
daemon off;
master_process off;
pid $work/nginx.pid;
error_log $work/nginx.log;
events { worker_connections 4096; }
http {
    access_log off;
    server_tokens off;
    keepalive_requests 1000000000;
    client_body_temp_path $work/nginx.body;
    proxy_temp_path $work/nginx.proxy;
    fastcgi_temp_path $work/nginx.fastcgi;
    uwsgi_temp_path $work/nginx.uwsgi;
    scgi_temp_path $work/nginx.scgi;
    server {
        listen 127.0.0.1:$port ssl;
        ssl_certificate $work/cert.pem;
        ssl_certificate_key $work/key.pem;
        ssl_protocols TLSv1.3;
        ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;
        location /db/ {
            default_type application/json;
            return 200 '$document';
        }
    }
    server {
        listen 127.0.0.1:$status_port;
        location = /status-$$ { stub_status; }
    }
}
CONF
    "$nginx" -p "$work" -e "$work/nginx.log" -c "$work/nginx.conf" 2>"$work/errors" &
    server=$!
}

start_nginx() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -keyout "$work/key.pem" -out "$work/cert.pem" -subj /CN=localhost \
        -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
        2>"$work/errors" || return 1
    start_somewhere launch_nginx nginx_answers || return 1
    counter=nginx
    url=https://127.0.0.1:$port
    echo "GET $url/db/x" >"$work/targets"
}

# springload checks the certificate; the others do not. Siege is left out: over TLS, it may not end.
tls_springload() {
    each requests "$springload" http "$url/db/x" -q -t 1 -c "$1" -d "${seconds}s" \
        --tls-ca "$work/cert.pem" -o "$work/run"
}
tls_wrk() { get_wrk "$1"; }
tls_h2load() { get_h2load "$1"; }
tls_oha() { get_oha "$1" --insecure; }
tls_bombardier() { get_bombardier "$1" -k; }
tls_hey() { get_hey "$1"; }
tls_k6() { get_k6 "$1" --insecure-skip-tls-verify; }
tls_vegeta() { get_vegeta "$1" -insecure; }

section_tls() {
    local missing='' version
    [ -n "$nginx" ] || missing="nginx is not installed"
    command -v openssl >/dev/null || missing="openssl is not installed"
    if [ -z "$missing" ] && ! start_nginx; then
        missing="nginx did not start"
        cat "$work/errors" "$work/nginx.log" >&2 || true
    fi
    if [ -n "$missing" ]; then
        printf '\n## GET over TLS 1.3\n\nNot measured: %s.\n' "$missing"
        return
    fi
    compare "GET over TLS 1.3, 50 connections" tls 50
    version=$("$nginx" -v 2>&1 | sed 's/.*: *//')
    cat <<TEXT

The server is $version, which answers by itself and counts the requests. It offers the cipher
TLS_AES_256_GCM_SHA384 alone. Handshakes are included. springload's verb is \`http\`, with
\`--tls-ca\`: it checks the certificate, the other tools do not.
TEXT
}
