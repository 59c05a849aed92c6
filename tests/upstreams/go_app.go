// Go's own server with its ServeMux, and with a handler that compares the cleaned path.
// Prints the ports as JSON; ends with its standard input.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
)

func serve(handler http.Handler) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	quiet := log.New(io.Discard, "", 0)
	go (&http.Server{Handler: handler, ErrorLog: quiet}).Serve(listener)
	return listener.Addr().(*net.TCPAddr).Port
}

func method(request *http.Request) string {
	if request.Method == "HEAD" {
		return "GET"
	}
	return request.Method
}

func main() {
	var handlers [][3]string
	if err := json.Unmarshal([]byte(os.Getenv("HANDLERS")), &handlers); err != nil {
		log.Fatal(err)
	}
	names := map[string]map[string]string{}
	for _, each := range handlers {
		if names[each[2]] == nil {
			names[each[2]] = map[string]string{}
		}
		names[each[2]][each[1]] = each[0]
	}
	answer := func(writer http.ResponseWriter, request *http.Request, route string) {
		name, found := names[route][method(request)]
		if !found {
			http.NotFound(writer, request)
			return
		}
		writer.Header().Set("X-Handler", name)
		io.WriteString(writer, "ok")
	}
	mux := http.NewServeMux()
	for route := range names {
		route := route
		mux.HandleFunc(route, func(writer http.ResponseWriter, request *http.Request) {
			if route == "/" && request.URL.Path != "/" {
				http.NotFound(writer, request)
				return
			}
			answer(writer, request, route)
		})
	}
	cleaned := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		answer(writer, request, strings.ToLower(path.Clean("/"+request.URL.Path)))
	})
	ports, _ := json.Marshal(map[string]int{"go": serve(mux), "go-cleaned": serve(cleaned)})
	fmt.Println(string(ports))
	io.Copy(io.Discard, os.Stdin)
}
