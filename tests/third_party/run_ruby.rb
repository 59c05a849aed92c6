# Runs a row's program with Debian's packages below the folder it is started in: prints a verdict for each token.
require "json"
GIVEN = JSON.parse(ARGV[0])
URL, SECRET, SITEKEY = GIVEN.values_at("url", "secret", "sitekey")
DEBIAN = Dir.pwd
eval(GIVEN["program"], TOPLEVEL_BINDING)
puts JSON.generate(GIVEN["tokens"].map { |token| verify(token) })
