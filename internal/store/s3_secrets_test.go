package store

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dumptool/internal/lang"
)

// listener is a server that records requests and their secrets.
type listener struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string
}

// listen starts a server that answers with answer.
func listen(t *testing.T, start func(http.Handler) *httptest.Server, answer http.HandlerFunc) *listener {
	t.Helper()
	l := new(listener)
	l.Server = start(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		l.mu.Lock()
		l.seen = append(l.seen, req.Method+" "+req.URL.Path+" "+req.Header.Get("Authorization")+req.Header.Get("X-Amz-Security-Token"))
		l.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(l.Close)
	return l
}

// requests returns the recorded requests.
func (l *listener) requests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen)
}

// elsewhere is the URL of the server with a name that is not a loopback address, although it leads
// to this machine.
func (l *listener) elsewhere(t *testing.T) string {
	t.Helper()
	u, err := url.Parse(l.URL)
	if err != nil {
		t.Fatal(err)
	}
	return "http://0.0.0.0:" + u.Port()
}

// role is an answer of a metadata service.
const role = `{"AccessKeyId": "ASIAROLE", "SecretAccessKey": "x", "Token": "t", "Expiration": "2100-01-01T00:00:00Z"}`

// TestUnencrypted checks for one warning if signed requests leave the machine unencrypted.
func TestUnencrypted(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[default]\nendpoint_url = http://10.0.0.1:9000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		set  S3Settings
		env  map[string]string
		want string // the endpoint in the warning; empty for none
	}{
		"given":            {S3Settings{Endpoint: "http://10.0.0.1:9000"}, testKeys, "http://10.0.0.1:9000 (--s3-endpoint)"},
		"environment":      {S3Settings{}, with(testKeys, "AWS_ENDPOINT_URL", "http://minio:9000"), "http://minio:9000 (AWS_ENDPOINT_URL)"},
		"file of the user": {S3Settings{}, with(testKeys, "AWS_CONFIG_FILE", config), "http://10.0.0.1:9000 (endpoint_url of " + config + ")"},
		"like loopback":    {S3Settings{Endpoint: "http://127.0.0.1.example.org"}, testKeys, "http://127.0.0.1.example.org (--s3-endpoint)"},
		"like localhost":   {S3Settings{Endpoint: "http://localhost.example.org"}, testKeys, "http://localhost.example.org (--s3-endpoint)"},
		"https":            {S3Settings{Endpoint: "https://10.0.0.1:9000"}, testKeys, ""},
		"AWS":              {S3Settings{}, testKeys, ""},
		"localhost":        {S3Settings{Endpoint: "http://localhost:9000"}, testKeys, ""},
		"loopback":         {S3Settings{Endpoint: "http://127.8.0.1:9000"}, testKeys, ""},
		"loopback of IPv6": {S3Settings{Endpoint: "http://[::1]:9000"}, testKeys, ""},
		"no key":           {S3Settings{Endpoint: "http://10.0.0.1:9000"}, nil, ""},
		"not signed":       {S3Settings{Endpoint: "http://10.0.0.1:9000", NoSign: true}, testKeys, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var notes []lang.Sentence
			tt.set.Getenv, tt.set.Note = environment(tt.env), func(s lang.Sentence) { notes = append(notes, s) }
			s, err := newS3(tt.set)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if _, err := s.keys.Retrieve(); err != nil {
					t.Fatal(err)
				}
			}
			if tt.want == "" {
				if len(notes) > 0 {
					t.Errorf("said %v", notes)
				}
				return
			}
			if len(notes) != 1 {
				t.Fatalf("said %v, want one message", notes)
			}
			text := notes[0].Text()
			if text.String() != tt.want+" is not encrypted: data and session tokens can be read on the way" || !strings.Contains(text.Chinese(), "未加密") {
				t.Errorf("said %v", text)
			}
		})
	}
}

// with returns an environment with one more variable.
func with(env map[string]string, name, value string) map[string]string {
	more := map[string]string{name: value}
	for k, v := range env {
		more[k] = v
	}
	return more
}

// TestNoHome checks that without a home folder .aws of the working folder is not read.
func TestNoHome(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", "")
	if err := os.Mkdir(".aws", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(".aws", "config"), []byte("[default]\nendpoint_url = http://elsewhere\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := newS3(S3Settings{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://s3.us-east-1.amazonaws.com"; s.endpoint != want {
		t.Errorf("endpoint %s, want %s", s.endpoint, want)
	}
}

// TestRedirect checks that the storage cannot redirect signed requests.
func TestRedirect(t *testing.T) {
	t.Parallel()
	other := listen(t, httptest.NewServer, func(http.ResponseWriter, *http.Request) {})
	for _, status := range []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect} {
		srv := listen(t, httptest.NewServer, func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Location", other.URL+req.URL.Path)
			w.WriteHeader(status)
		})
		s, err := newS3(S3Settings{Endpoint: srv.URL, Getenv: environment(with(testKeys, "AWS_SESSION_TOKEN", "a token"))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Head("dumps", "x"); err == nil {
			t.Errorf("%d: no error", status)
		}
		if len(srv.requests()) == 0 || !strings.HasSuffix(srv.requests()[0], "a token") {
			t.Errorf("%d: requests %q, want one that has the token", status, srv.requests())
		}
	}
	if got := other.requests(); len(got) > 0 {
		t.Errorf("requests %q reached the other server", got)
	}
}

// TestMetadata checks which metadata services are asked for keys, and that their token goes nowhere
// else.
func TestMetadata(t *testing.T) {
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte("a token"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(role)) }
	other := listen(t, httptest.NewServer, answer)
	service := listen(t, httptest.NewServer, answer)
	moved := listen(t, httptest.NewServer, func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other.URL+"/moved", http.StatusTemporaryRedirect)
	})
	for name, tt := range map[string]struct {
		env  map[string]string
		want string // the key
	}{
		"loopback":   {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": service.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": tokenFile}, "ASIAROLE"},
		"elsewhere":  {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": other.elsewhere(t), "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": tokenFile}, ""},
		"other host": {map[string]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": strings.Replace(other.elsewhere(t), "http://", "@", 1), "AWS_CONTAINER_AUTHORIZATION_TOKEN": "a token"}, ""},
		"redirect":   {map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": moved.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "a token"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"FULL_URI", "RELATIVE_URI"} {
				t.Setenv("AWS_CONTAINER_CREDENTIALS_"+variable, tt.env["AWS_CONTAINER_CREDENTIALS_"+variable])
			}
			for _, variable := range []string{"TOKEN", "TOKEN_FILE"} {
				t.Setenv("AWS_CONTAINER_AUTHORIZATION_"+variable, tt.env["AWS_CONTAINER_AUTHORIZATION_"+variable])
			}
			set := S3Settings{Getenv: environment(map[string]string{"AWS_EC2_METADATA_DISABLED": "false"})}
			v, err := set.keychain().Retrieve()
			if err != nil || v.AccessKeyID != tt.want {
				t.Errorf("key %q, %v, want %q", v.AccessKeyID, err, tt.want)
			}
		})
	}
	if got := other.requests(); len(got) > 0 {
		t.Errorf("requests %q reached the other server", got)
	}
	if got := service.requests(); len(got) != 1 || got[0] != "GET / a token" {
		t.Errorf("requests %q, want one with the token", got)
	}
}

// TestMetadataAddresses checks which services are asked without encryption.
func TestMetadataAddresses(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "169.254.170.23": true, "fd00:ec2::254": true, "fd00:ec2::23": true, "127.0.0.1": true, "::1": true, "localhost": true,
		"10.0.0.1": false, "0.0.0.0": false, "fd00::1": false, "169.254.example.org": false, "localhost.example.org": false, "": false,
	} {
		if got := isLoopback(host) || isLinkLocal(host); got != want {
			t.Errorf("%q: %v, want %v", host, got, want)
		}
	}
}
