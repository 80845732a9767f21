package store

import (
	"container/list"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"

	"dumptool/internal/lang"
)

// s3 is S3-compatible storage. Of the client library only requests are used, one answer
// a call: reading ahead, trying again and taking uploads apart is done here.
type s3 struct {
	set      S3Settings
	core     *minio.Core
	keys     *keychain
	endpoint string // URL
	virtual  bool   // buckets are in the name of the host

	slots  chan struct{} // requests that read at the same time
	heads  *heads
	blocks *blocks
	shared sharedTable
	active atomic.Int64 // sources that are read beyond their heads
	parts  *parts
	health health

	unconditional sync.Once // noteUnconditional
}

// Limits of requests that take long.
const (
	readTimeout   = time.Minute // without any byte: a quarter of the retry time, between these two
	leastTimeout  = 5 * time.Second
	headTimeout   = time.Minute      // for requests without much to send or to get
	writeTimeout  = 15 * time.Minute // for a part
	finishTimeout = 15 * time.Minute // for the server to put parts together
)

// noLastSleep keeps the client library from sleeping after a request that has failed,
// before it finds that it was the last one to try: up to 200 ms, for each object that
// is not there. The waits between tries are ours.
var noLastSleep = sync.OnceFunc(func() { minio.DefaultRetryUnit = 0 })

// NewS3 returns the storage that settings and environment describe. No request is made.
func NewS3(set S3Settings) (Objects, error) { return newS3(set) }

func newS3(set S3Settings) (*s3, error) {
	set, err := set.complete()
	if err != nil {
		return nil, err
	}
	set.surroundings()
	at, err := set.server()
	if err != nil {
		return nil, lang.Errorf("%s: %w", set.endpointFrom, err)
	}
	transport, err := set.transport()
	if err != nil {
		return nil, err
	}
	slow := transport.Clone()
	slow.ResponseHeaderTimeout = finishTimeout
	s := &s3{
		set: set, keys: set.keychain(), endpoint: at.String(), virtual: set.virtualHost(at.Hostname()),
		slots:  make(chan struct{}, set.Concurrency),
		heads:  &heads{max: set.Cache / 8, byID: map[string][]byte{}}, // these count among all that may be in memory
		blocks: &blocks{max: max(set.Cache-set.Cache/8, set.Block), bySpan: map[span]*list.Element{}},
		shared: sharedTable{byID: map[string]*shared{}, spool: &spool{max: max(set.Spool, 0), note: set.Note}},
		parts:  &parts{left: partsBudget},
	}
	s.health = health{set: &s.set, where: s.where, changed: make(chan struct{})}
	if at.Scheme == "http" && !loopback(at.Hostname()) && set.Note != nil {
		s.keys.used = sync.OnceFunc(func() {
			set.Note(lang.Sayf("%s (%s) is not encrypted: data and session tokens can be read on the way", "%s（%s）未加密：数据和会话令牌在途中可被读取", s.endpoint, set.endpointFrom))
		})
	}
	lookup := minio.BucketLookupPath
	if s.virtual {
		lookup = minio.BucketLookupDNS
	}
	noLastSleep()
	s.core, err = minio.NewCore(at.Host, &minio.Options{
		Creds: s.keys.credentials(), Secure: at.Scheme == "https", Transport: statusTransport{transport, slow, set.stall}, Region: set.Region,
		BucketLookup: lookup, MaxRetries: 1,
	})
	if err != nil {
		return nil, lang.Errorf("endpoint %s: %w", s.endpoint, err)
	}
	s.core.SetS3EnableDualstack(false)
	s.core.SetAppInfo("dumptool", "1")
	return s, nil
}

// transport makes connections. HTTP/2 would put all requests into one.
func (set *S3Settings) transport() (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: readTimeout,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   2 * set.Concurrency,
		IdleConnTimeout:       time.Minute,
		ReadBufferSize:        64 << 10,
		WriteBufferSize:       64 << 10,
		DisableCompression:    true, // of objects that are compressed
		TLSNextProto:          map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	bundle := set.getenv("AWS_CA_BUNDLE")
	if bundle == "" {
		return t, nil
	}
	pem, err := os.ReadFile(bundle)
	if err != nil {
		return nil, lang.Errorf("AWS_CA_BUNDLE: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, lang.Errorf("AWS_CA_BUNDLE: %s has no certificates", bundle)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return t, nil
}

// where describes the server for messages.
func (s *s3) where() string {
	text := s.endpoint
	if s.virtual {
		text += ", virtual-host style"
	} else {
		text += ", path style"
	}
	if s.set.Endpoint != "" { // else it is AWS itself
		text += " (" + s.set.endpointFrom + ")"
	}
	return text
}

// limits are how many requests may be under way, and of how many objects there is room for
// two small blocks.
func (s *s3) limits() (requests, objects int) {
	return s.set.Concurrency, min(s.set.Concurrency, int(s.set.Cache/(2*minBlock)))
}

// Head implements Objects.
func (s *s3) Head(bucket, key string) (Object, error) {
	var found minio.ObjectInfo
	err := s.request(headTimeout, func(ctx context.Context) (err error) {
		found, err = s.core.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
		return err
	})
	if err != nil {
		return Object{}, s.explain("read "+key, err)
	}
	return object(&found), nil
}

// object is what the client library says about one. Quotes of the ETag are left out:
// answers have them, and listings of some servers.
func object(o *minio.ObjectInfo) Object {
	return Object{Key: o.Key, Size: o.Size, ModTime: o.LastModified, ETag: strings.Trim(o.ETag, `"`)}
}

// Remove implements Objects.
func (s *s3) Remove(bucket, key string) error {
	err := s.request(headTimeout, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
	})
	if answer := status(err); answer != nil && answer.status == http.StatusNotFound && answer.code != "NoSuchBucket" {
		return nil
	}
	return s.explain("remove "+key, err)
}
