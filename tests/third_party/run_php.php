<?php
// Runs a row's program with Debian's packages below the folder it is started in: prints a verdict for each token.
$given = json_decode($argv[1], true);
[$url, $secret, $sitekey, $debian] = [$given['url'], $given['secret'], $given['sitekey'], getcwd()];
eval($given['program']);
echo json_encode(array_map('verify', $given['tokens']));
