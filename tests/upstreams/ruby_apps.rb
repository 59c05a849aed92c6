# Sinatra and the router of Rails on WEBrick, each on a port of its own.
# Prints the ports as JSON, and the reason where one is missing; ends with its standard input.
require "json"
require "logger"

HANDLERS = JSON.parse(ENV.fetch("HANDLERS"))
HEADER = "X-Handler"

def serve(app)
  server = WEBrick::HTTPServer.new(
    BindAddress: "127.0.0.1", Port: 0, Logger: WEBrick::Log.new(File::NULL), AccessLog: []
  )
  server.mount "/", WEBRICK_HANDLER, app
  Thread.new { server.start }
  server.listeners.first.addr[1]
end

def sinatra
  require "sinatra/base"
  app = Class.new(Sinatra::Base) do
    set :environment, :production
    set :strict_paths, false
    enable :method_override
    # The gate is on trial, not Sinatra's protection of forms and hosts.
    set :protection, except: %i[http_origin remote_token host_authorization]
    HANDLERS.each do |name, method, path|
      send(method.downcase, path) { headers(HEADER => name) && "ok" }
    end
  end
  serve(app)
end

def rails
  require "action_controller"
  require "action_dispatch"
  routes = ActionDispatch::Routing::RouteSet.new
  routes.draw do
    HANDLERS.each do |name, method, path|
      to = ->(_) { [200, { HEADER => name, "Content-Type" => "text/plain" }, ["ok"]] }
      match path, via: method.downcase.to_sym, to: to, format: false
    end
  end
  head = ->(env) { [*routes.call(env).first(2), []] }
  app = ->(env) { env["REQUEST_METHOD"] == "HEAD" ? head.call(env) : routes.call(env) }
  serve(Rack::MethodOverride.new(app))
end

require "webrick"
require "rack"
begin
  require "rack/handler/webrick"
  WEBRICK_HANDLER = Rack::Handler::WEBrick
rescue LoadError
  # Rack 3.
  require "rackup/handler/webrick"
  WEBRICK_HANDLER = Rackup::Handler::WEBrick
end

ports = { "sinatra" => :sinatra, "rails" => :rails }.transform_values do |start|
  send(start)
rescue LoadError => e
  "not installed: #{e.message}"
end
puts JSON.generate(ports)
$stdout.flush
$stdin.read
exit! 0
