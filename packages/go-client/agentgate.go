// Package agentgate redeems tokens of AgentGate's browser check. One file, the standard library alone.
//
// A lost answer is asked for again under the same request ID, so that a token is never spent without your hearing of it.
package agentgate

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Field is the name of the form field that carries the token.
const Field = "agentgate-token"

const (
	mostToken  = 4096
	mostAnswer = 64 << 10
	firstPause = 50 * time.Millisecond
)

var tokenShape = regexp.MustCompile(`\A[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\z`)

// VerificationFailed says that a token was not accepted. Code is stable: invalid_token, expired_token, token_used, ...
type VerificationFailed struct{ Code, Message string }

func (e *VerificationFailed) Error() string { return e.Code + ": " + e.Message }

// VisitorMessage is what to show to the visitor; Error is for your log.
func (e *VerificationFailed) VisitorMessage() string {
	switch e.Code {
	case "receipt_required":
		return "The browser check is missing. Enable JavaScript, reload the page and try again."
	case "expired_token":
		return "The browser check has expired. Reload the page and try again."
	case "token_used":
		return "This form was already sent. Reload the page to send it again."
	}
	return "The browser check was not accepted. Reload the page and try again."
}

// Unavailable says that nobody could tell. Ask again with the same RequestID.
type Unavailable struct{ RequestID, Why string }

func (e *Unavailable) Error() string { return "agentgate is unavailable: " + e.Why }

// Question is what is asked about a token. RequestID is made when it is empty.
type Question struct {
	Token          string `json:"token"`
	ExpectedAction string `json:"expectedAction"`
	RequestID      string `json:"requestId"`
	ExpectedOrigin string `json:"expectedOrigin,omitempty"`
	RemoteAddress  string `json:"remoteAddress,omitempty"`
}

// Verified is the answer about a good token.
type Verified struct {
	Action     string `json:"action"`
	SiteKey    string `json:"siteKey"`
	Origin     string `json:"origin"`
	Kind       string `json:"kind"`
	VisitorID  string `json:"visitorId"`
	DecisionID string `json:"decisionId"`
	RequestID  string `json:"requestId"`
}

// Client asks one service with one secret. It is safe for use by many goroutines.
type Client struct {
	// Retries after the first attempt.
	Retries int
	url     string
	secret  string
	http    *http.Client
}

// New makes a client. base is the service's address, such as https://gate.example; secret begins with ags_.
func New(base, secret string) (*Client, error) {
	parts, err := url.Parse(base)
	if err != nil || (parts.Scheme != "http" && parts.Scheme != "https") || parts.Host == "" {
		return nil, fmt.Errorf("%q is not the address of a service; give one such as https://gate.example", base)
	}
	if secret == "" || strings.ContainsAny(secret, " \r\n\t") {
		return nil, errors.New("the secret is empty or holds characters that no secret has")
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	asker := &http.Client{Timeout: time.Second, CheckRedirect: stay}
	return &Client{Retries: 2, url: strings.TrimRight(base, "/") + "/v1/siteverify", secret: secret, http: asker}, nil
}

// VerifyRequest redeems the token of a request: of its header X-AgentGate-Token, or else of the form field. It sends the
// address of the connection, unless that is a proxy's on a private network.
func (c *Client) VerifyRequest(r *http.Request, expectedAction string) (*Verified, error) {
	token := strings.TrimSpace(r.Header.Get("X-AgentGate-Token"))
	if token == "" {
		token = strings.TrimSpace(r.FormValue(Field))
	}
	return c.Verify(r.Context(), Question{Token: token, ExpectedAction: expectedAction, RemoteAddress: visitorAddress(r)})
}

func visitorAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	address := net.ParseIP(host)
	if err != nil || address == nil || !address.IsGlobalUnicast() || address.IsPrivate() {
		return ""
	}
	return address.String()
}

// Verify redeems a token, once. The error is a *VerificationFailed, an *Unavailable, or that of the context.
func (c *Client) Verify(ctx context.Context, asked Question) (*Verified, error) {
	if asked.Token == "" {
		return nil, &VerificationFailed{"receipt_required", "There is no token: the browser check did not run."}
	}
	if len(asked.Token) > mostToken || !tokenShape.MatchString(asked.Token) {
		return nil, &VerificationFailed{"invalid_token", "The text is not a token."}
	}
	if asked.RequestID == "" {
		made := make([]byte, 16)
		if _, err := rand.Read(made); err != nil {
			return nil, err
		}
		asked.RequestID = hex.EncodeToString(made)
	}
	pause := firstPause
	for tried := 0; ; tried++ {
		found, err := c.ask(ctx, asked)
		var away *Unavailable
		if err == nil || !errors.As(err, &away) || tried >= c.Retries {
			return found, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(jittered(pause)):
		}
		pause *= 2
	}
}

func (c *Client) ask(ctx context.Context, asked Question) (*Verified, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+c.secret)
	reply, err := c.http.Do(request)
	if err != nil {
		return nil, &Unavailable{asked.RequestID, "no answer"}
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, mostAnswer))
	if err != nil || reply.StatusCode >= 500 {
		return nil, &Unavailable{asked.RequestID, reply.Status}
	}
	var answer struct {
		Verified
		Success bool   `json:"success"`
		Code    string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return nil, &Unavailable{asked.RequestID, "the answer is not JSON"}
	}
	if reply.StatusCode != http.StatusOK || !answer.Success {
		if answer.Code == "" {
			answer.Code = "invalid_token"
		}
		return nil, &VerificationFailed{answer.Code, answer.Message}
	}
	if answer.Action != asked.ExpectedAction {
		return nil, &VerificationFailed{"action_mismatch", "The answer is about another action."}
	}
	return &answer.Verified, nil
}

// jittered spreads callers that failed together: they must not come back together.
func jittered(pause time.Duration) time.Duration {
	more, err := rand.Int(rand.Reader, big.NewInt(int64(pause)))
	if err != nil {
		return pause
	}
	return pause/2 + time.Duration(more.Int64())
}
