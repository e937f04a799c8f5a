module lab/external-secrets

go 1.25.0

require github.com/external-secrets/external-secrets v1.3.2 // indirect
