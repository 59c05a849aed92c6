module agentgate.example/client

go 1.19
