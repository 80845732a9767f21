package store

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestS3Settings(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "config")
	text := "[default]\nregion = eu-west-1\n[profile work]\nregion=cn-north-1\nendpoint_url = http://10.0.0.1:9000\ns3 =\n  region = nested\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		set  S3Settings
		env  map[string]string
		want string // endpoint, style, region, key
	}{
		"nothing":        {S3Settings{}, nil, "https://s3.us-east-1.amazonaws.com, virtual-host style us-east-1 no key found (AWS_ACCESS_KEY_ID, AWS_PROFILE)"},
		"region":         {S3Settings{}, map[string]string{"AWS_REGION": "cn-north-1"}, "https://s3.cn-north-1.amazonaws.com.cn, virtual-host style cn-north-1 no key"},
		"OBS":            {S3Settings{Endpoint: "https://obs.cn-north-4.myhuaweicloud.com/"}, nil, "https://obs.cn-north-4.myhuaweicloud.com, virtual-host style (--s3-endpoint) cn-north-4"},
		"path for OBS":   {S3Settings{Endpoint: "https://obs.cn-north-4.myhuaweicloud.com", PathStyle: "on"}, nil, "https://obs.cn-north-4.myhuaweicloud.com, path style (--s3-endpoint) cn-north-4"},
		"localhost":      {S3Settings{}, map[string]string{"AWS_ENDPOINT_URL": "http://localhost:9000"}, "http://localhost:9000, path style (AWS_ENDPOINT_URL) us-east-1"},
		"of the service": {S3Settings{}, map[string]string{"AWS_ENDPOINT_URL": "http://a:1", "AWS_ENDPOINT_URL_S3": "http://b:2"}, "http://b:2, path style (AWS_ENDPOINT_URL_S3)"},
		"flag wins":      {S3Settings{Endpoint: "http://c:3", Region: "r"}, map[string]string{"AWS_ENDPOINT_URL_S3": "http://b:2", "AWS_REGION": "q"}, "http://c:3, path style (--s3-endpoint) r"},
		"not of AWS":     {S3Settings{Endpoint: "https://amazonaws.com.example.org"}, nil, "https://amazonaws.com.example.org, path style"},
		"environment":    {S3Settings{}, map[string]string{"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN4F2Q", "AWS_SECRET_ACCESS_KEY": "wJalr"}, "us-east-1 key AKIA..4F2Q from the environment"},
		"short key":      {S3Settings{}, map[string]string{"AWS_ACCESS_KEY_ID": "admin", "AWS_SECRET_ACCESS_KEY": "x"}, "us-east-1 key ad.. from the environment"},
		"half a key":     {S3Settings{}, map[string]string{"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN4F2Q"}, "us-east-1 AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not"},
		"no signature":   {S3Settings{NoSign: true}, map[string]string{"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN4F2Q", "AWS_SECRET_ACCESS_KEY": "wJalr"}, "us-east-1 without a signature (--s3-no-sign)"},
		"files":          {S3Settings{}, map[string]string{"AWS_CONFIG_FILE": config}, "https://s3.eu-west-1.amazonaws.com, virtual-host style eu-west-1"},
		"profile":        {S3Settings{}, map[string]string{"AWS_CONFIG_FILE": config, "AWS_PROFILE": "work"}, "http://10.0.0.1:9000, path style (endpoint_url of " + config + ") cn-north-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.set.Getenv = environment(tt.env)
			s, err := newS3(tt.set)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.keys.Retrieve(); err != nil {
				t.Fatal(err)
			}
			if got := s.describeServer() + " " + s.set.Region + " " + s.describeKey(); !strings.Contains(got, tt.want) || strings.Contains(got, "wJalr") {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestBadS3Settings checks that errors of settings are reported without secrets.
func TestBadS3Settings(t *testing.T) {
	t.Parallel()
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	if err := os.WriteFile(bundle, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, tt := range map[string]struct {
		set S3Settings
		env map[string]string
	}{
		"user and password":                                  {S3Settings{Endpoint: "https://me:pass@host"}, nil},
		`--s3-endpoint: "host:9000" is not a URL`:            {S3Settings{Endpoint: "host:9000"}, nil},
		`"http://host/path" is not a URL`:                    {S3Settings{Endpoint: "http://host/path"}, nil},
		`AWS_ENDPOINT_URL_S3: "ftp://host" is not`:           {S3Settings{}, map[string]string{"AWS_ENDPOINT_URL_S3": "ftp://host"}},
		`path style "maybe"`:                                 {S3Settings{PathStyle: "maybe"}, nil},
		"a block must have from 256 KiB to 256 MiB":          {S3Settings{Block: 1000}, nil},
		"the cache must hold at least one block":             {S3Settings{Cache: 1 << 20}, nil},
		"from 1 to 1000 requests":                            {S3Settings{Concurrency: -1}, nil},
		"are retried for at most 24 hours":                   {S3Settings{RetryTime: 25 * time.Hour}, nil},
		"AWS_CA_BUNDLE: " + bundle + " has no certificates":  {S3Settings{}, map[string]string{"AWS_CA_BUNDLE": bundle}},
		"AWS_CA_BUNDLE: open " + bundle + "2: no such file ": {S3Settings{}, map[string]string{"AWS_CA_BUNDLE": bundle + "2"}},
	} {
		tt.set.Getenv = environment(tt.env)
		if _, err := newS3(tt.set); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pass@") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestCABundle checks that only servers with a certificate in the bundle are trusted.
func TestCABundle(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		w.Header().Set("Content-Length", "7")
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	bundle := filepath.Join(t.TempDir(), "bundle.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	if err := os.WriteFile(bundle, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := newS3(S3Settings{Endpoint: srv.URL, Getenv: environment(map[string]string{"AWS_CA_BUNDLE": bundle})})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := s.Head("dumps", "x"); err != nil || o.Size != 7 {
		t.Errorf("Head = %+v, %v", o, err)
	}
	if s, err = newS3(S3Settings{Endpoint: srv.URL, Getenv: environment(nil)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Head("dumps", "x"); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("error %v", err)
	}
}
