<?php
// A front controller as PHP frameworks have it: `php -S 127.0.0.1:PORT php_app.php`, with the handlers in HANDLERS.
// It names what several usual ways of reading the target would run.

$uri = $_SERVER['REQUEST_URI'];
$readings = [
    strtok($uri, '?'),
    parse_url($uri, PHP_URL_PATH),
    parse_url('http://' . ($_SERVER['HTTP_HOST'] ?? 'h') . $uri, PHP_URL_PATH),
    $_SERVER['PATH_INFO'] ?? null,
    $_SERVER['SCRIPT_NAME'] ?? null,
    // As frameworks behind IIS do.
    $_SERVER['HTTP_X_ORIGINAL_URL'] ?? null,
    $_SERVER['HTTP_X_REWRITE_URL'] ?? null,
];
$paths = [];
foreach ($readings as $reading) {
    if (!is_string($reading)) {
        continue;
    }
    foreach ([$reading, rawurldecode($reading), urldecode($reading)] as $text) {
        $paths[] = '/' . trim($text, "/ \t\r\n\0\x0b");
    }
}

$method = $_SERVER['REQUEST_METHOD'] === 'HEAD' ? 'GET' : $_SERVER['REQUEST_METHOD'];
$methods = [$method];
if ($method === 'POST') {
    // As Symfony and Laravel do: the header, then the field of a form, in the body or in the query.
    foreach ([$_SERVER['HTTP_X_HTTP_METHOD_OVERRIDE'] ?? null, $_POST['_method'] ?? null, $_GET['_method'] ?? null] as $other) {
        if (is_string($other)) {
            $methods[] = strtoupper($other);
        }
    }
}

$ran = [];
foreach (json_decode(getenv('HANDLERS')) as [$name, $needed, $route]) {
    foreach ($paths as $path) {
        if (in_array($needed, $methods, true) && preg_match('#^' . preg_quote($route, '#') . '/?$#iu', $path) === 1) {
            $ran[$name] = true;
        }
    }
}
if ($ran) {
    header('X-Handler: ' . implode(' ', array_keys($ran)));
} else {
    http_response_code(404);
}
echo 'ok';
