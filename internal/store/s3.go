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
	"github.com/minio/minio-go/v7/pkg/credentials"

	"dumptool/internal/lang"
)

// s3 is S3-compatible storage. The client library only makes single requests; prefetching, retries
// and multipart uploads are implemented here.
type s3 struct {
	set      S3Settings
	core     *minio.Core
	keys     *keychain
	endpoint string // URL
	virtual  bool   // the bucket is part of the host name

	slots  chan struct{} // a slot for each concurrent reading request
	heads  *headCache
	blocks *blocks
	shared sharedTable
	active atomic.Int64 // number of sources that were read beyond the cached head
	parts  *partBuffers
	health health

	unconditional sync.Once // for noteUnconditional
}

// Limits of requests that take long.
const (
	readTimeout   = time.Minute // maximum without any byte; a quarter of the retry time down to leastTimeout
	leastTimeout  = 5 * time.Second
	headTimeout   = time.Minute      // for requests with short data
	writeTimeout  = 15 * time.Minute // for one part
	finishTimeout = 15 * time.Minute // for the server to join the parts
)

// noLastSleep disables the sleep of the client library after a failed request, up to 200 ms even
// after the last try, which would delay every lookup of a missing object. Retries here wait by
// themselves.
var noLastSleep = sync.OnceFunc(func() { minio.DefaultRetryUnit = 0 })

// NewS3 returns the storage described by settings and environment. It makes no request.
func NewS3(set S3Settings) (Objects, error) { return newS3(set) }

func newS3(set S3Settings) (*s3, error) {
	set, err := set.fillDefaults()
	if err != nil {
		return nil, err
	}
	set.fillFromEnvironment()
	at, err := set.serverURL()
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
		set: set, keys: set.keychain(), endpoint: at.String(), virtual: set.hasVirtualHost(at.Hostname()),
		slots:  make(chan struct{}, set.Concurrency),
		heads:  &headCache{max: set.Cache / 8, byID: map[string][]byte{}}, // heads count towards the cache size
		blocks: &blocks{max: max(set.Cache-set.Cache/8, set.Block), bySpan: map[span]*list.Element{}},
		shared: sharedTable{byID: map[string]*sharedObject{}, spool: &spool{max: max(set.Spool, 0), note: set.Note}},
		parts:  &partBuffers{left: partsBudget},
	}
	s.health = health{set: &s.set, where: s.describeServer, changed: make(chan struct{})}
	if at.Scheme == "http" && !isLoopback(at.Hostname()) && set.Note != nil {
		s.keys.onUse = sync.OnceFunc(func() {
			set.Note(lang.Say("%s (%s) is not encrypted: data and session tokens can be read on the way", s.endpoint, set.endpointFrom))
		})
	}
	lookup := minio.BucketLookupPath
	if s.virtual {
		lookup = minio.BucketLookupDNS
	}
	noLastSleep()
	s.core, err = minio.NewCore(at.Host, &minio.Options{
		Creds: credentials.New(s.keys), Secure: at.Scheme == "https", Transport: statusTransport{transport, slow, set.stall}, Region: set.Region,
		BucketLookup: lookup, MaxRetries: 1,
	})
	if err != nil {
		return nil, lang.Errorf("endpoint %s: %w", s.endpoint, err)
	}
	s.core.SetS3EnableDualstack(false)
	s.core.SetAppInfo("dumptool", "1")
	return s, nil
}

// transport returns an HTTP transport without HTTP/2, which would put all requests into one
// connection.
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
		DisableCompression:    true, // compressed objects must stay as they are
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

// describeServer describes the server for messages.
func (s *s3) describeServer() string {
	text := s.endpoint
	if s.virtual {
		text += ", virtual-host style"
	} else {
		text += ", path style"
	}
	if s.set.Endpoint != "" { // otherwise it is AWS
		text += " (" + s.set.endpointFrom + ")"
	}
	return text
}

// requestLimits returns the maximum number of concurrent requests, and the number of objects for which the
// cache has room for two small blocks each.
func (s *s3) requestLimits() (requests, objects int) {
	return s.set.Concurrency, min(s.set.Concurrency, int(s.set.Cache/(2*minBlock)))
}

// Head implements Objects.
func (s *s3) Head(bucket, key string) (Object, error) {
	var found minio.ObjectInfo
	err := s.retryRequest(headTimeout, func(ctx context.Context) (err error) {
		found, err = s.core.StatObject(ctx, bucket, key, minio.StatObjectOptions{})
		return err
	})
	if err != nil {
		return Object{}, s.explain("read "+key, err)
	}
	return toObject(&found), nil
}

// toObject converts an object of the client library. Some listings have quotes around the ETag.
func toObject(o *minio.ObjectInfo) Object {
	return Object{Key: o.Key, Size: o.Size, ModTime: o.LastModified, ETag: strings.Trim(o.ETag, `"`)}
}

// Remove implements Objects.
func (s *s3) Remove(bucket, key string) error {
	err := s.retryRequest(headTimeout, func(ctx context.Context) error {
		return s.core.RemoveObject(ctx, bucket, key, minio.RemoveObjectOptions{})
	})
	if answer := statusOf(err); answer != nil && answer.status == http.StatusNotFound && answer.code != "NoSuchBucket" {
		return nil
	}
	return s.explain("remove "+key, err)
}
