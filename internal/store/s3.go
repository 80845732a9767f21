package store

import (
	"bufio"
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

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
	cuts   cuts
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
		cuts:   cuts{byID: map[string]*cut{}, spool: &spool{max: max(set.Spool, 0), note: set.Note}},
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
		Creds: s.keys.credentials(), Secure: at.Scheme == "https", Transport: answers{transport, slow, set.stall}, Region: set.Region,
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

// server is the URL that requests go to.
func (set *S3Settings) server() (*url.URL, error) {
	if set.Endpoint != "" {
		return parseEndpoint(set.Endpoint)
	}
	host := "s3." + set.Region + ".amazonaws.com"
	if strings.HasPrefix(set.Region, "cn-") {
		host += ".cn"
	}
	return &url.URL{Scheme: "https", Host: host}, nil
}

// virtualHost reports whether the names of buckets are part of the name of the host.
func (set *S3Settings) virtualHost(host string) bool {
	if set.PathStyle == "auto" {
		return hasDomain(host, "amazonaws.com") || hasDomain(host, "amazonaws.com.cn") || hasDomain(host, "myhuaweicloud.com")
	}
	return set.PathStyle == "off"
}

func parseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, lang.Errorf("not a URL such as https://obs.cn-north-4.myhuaweicloud.com")
	case u.User != nil:
		return nil, lang.Errorf("a URL without user and password is wanted")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, lang.Errorf("%q is not a URL such as https://obs.cn-north-4.myhuaweicloud.com", text)
	}
	u.Path = ""
	return u, nil
}

func hasDomain(host, domain string) bool { return strings.HasSuffix(host, "."+domain) }

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

// S3Settings say how S3-compatible storage is reached and read. The zero value is the
// defaults. What they do not say comes from the variables and files that other programs
// use for it: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, AWS_REGION, AWS_PROFILE,
// AWS_CA_BUNDLE, AWS_CONFIG_FILE. Keys come from there only: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE, and at last
// from the metadata of the machine unless AWS_EC2_METADATA_DISABLED is true.
type S3Settings struct {
	Endpoint  string // URL; default: AWS
	Region    string // default: as the endpoint says, else us-east-1
	PathStyle string // auto, on or off; default: auto
	NoSign    bool   // requests without a signature, for public buckets

	Block       int64         // bytes of a request that reads; default: 8 MiB
	Cache       int64         // bytes of objects in memory; default: 64 MiB
	Spool       int64         // bytes of objects in $TMPDIR, below 0 for none; default: 8 GiB
	Concurrency int           // requests that read at the same time; default: 64
	RetryTime   time.Duration // for which a request is tried again; default: 5 minutes

	// Context ends waiting before a request is tried again.
	Context context.Context
	// Note hears of what the server cannot do, unless it is nil.
	Note func(lang.Sentence)
	// Getenv is os.Getenv where it is nil.
	Getenv func(string) string

	endpointFrom string        // what the endpoint is the value of
	firstWait    time.Duration // before the first retry; default: firstWait
	stall        time.Duration // without any byte before a request that reads has failed; default: by RetryTime
}

// The defaults of some settings.
const (
	Concurrency = 64
	RetryTime   = 5 * time.Minute
	Spool       = 8 << 30
)

// Limits of the settings, in bytes.
const (
	minBlock = 256 << 10
	maxBlock = 256 << 20
)

// Check looks for values that make no sense.
func (set S3Settings) Check() error {
	_, err := set.complete()
	if err == nil && set.Endpoint != "" {
		_, err = parseEndpoint(set.Endpoint)
	}
	return err
}

// complete fills in defaults.
func (set S3Settings) complete() (S3Settings, error) {
	if set.Context == nil {
		set.Context = context.Background()
	}
	set.PathStyle = cmp.Or(set.PathStyle, "auto")
	set.Block, set.Cache = cmp.Or(set.Block, 8<<20), cmp.Or(set.Cache, 64<<20)
	set.Spool = cmp.Or(set.Spool, Spool)
	set.firstWait = cmp.Or(set.firstWait, firstWait)
	set.Concurrency, set.RetryTime = cmp.Or(set.Concurrency, Concurrency), cmp.Or(set.RetryTime, RetryTime)
	set.stall = cmp.Or(set.stall, min(max(set.RetryTime/4, leastTimeout), readTimeout))
	switch {
	case set.PathStyle != "auto" && set.PathStyle != "on" && set.PathStyle != "off":
		return set, lang.Errorf("path style %q: want auto, on or off", set.PathStyle)
	case set.Block < minBlock || set.Block > maxBlock:
		return set, lang.Errorf("a block has from 256 KiB to 256 MiB")
	case set.Cache < set.Block:
		return set, lang.Errorf("the cache must hold at least one block")
	case set.Concurrency < 1 || set.Concurrency > 1000:
		return set, lang.Errorf("from 1 to 1000 requests at the same time are possible")
	case set.RetryTime < 0 || set.RetryTime > maxRetryTime:
		return set, lang.Errorf("a request is tried again for at most 24 hours")
	}
	return set, nil
}

// surroundings fills in what environment and files say.
func (set *S3Settings) surroundings() {
	config := set.config()
	set.endpointFrom = "--s3-endpoint"
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if set.Endpoint == "" && set.getenv(name) != "" {
			set.Endpoint, set.endpointFrom = set.getenv(name), name
		}
	}
	if set.Endpoint == "" && config["endpoint_url"] != "" {
		set.Endpoint, set.endpointFrom = config["endpoint_url"], "endpoint_url of "+set.configFile()
	}
	set.Region = cmp.Or(set.Region, set.getenv("AWS_REGION"), set.getenv("AWS_DEFAULT_REGION"), config["region"], regionOf(set.Endpoint), "us-east-1")
}

// regionOf is the region in the name of an endpoint: s3.REGION.amazonaws.com,
// obs.REGION.myhuaweicloud.com.
func regionOf(endpoint string) string {
	u, err := parseEndpoint(endpoint)
	if err != nil {
		return ""
	}
	labels := strings.Split(u.Hostname(), ".")
	if len(labels) >= 4 && (labels[0] == "s3" || labels[0] == "obs") {
		return labels[1]
	}
	return ""
}

func (set *S3Settings) getenv(name string) string {
	if set.Getenv != nil {
		return set.Getenv(name)
	}
	return os.Getenv(name)
}

// profile is that of the AWS files.
func (set *S3Settings) profile() string { return cmp.Or(set.getenv("AWS_PROFILE"), "default") }

func (set *S3Settings) configFile() string {
	if name := set.getenv("AWS_CONFIG_FILE"); name != "" {
		return name
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // and not that of the working folder
	}
	return filepath.Join(home, ".aws", "config")
}

// config are the settings of the profile in AWS's configuration file. Settings of a
// service are indented below it and not looked at.
func (set *S3Settings) config() map[string]string {
	found := map[string]string{}
	f, err := os.Open(set.configFile())
	if err != nil {
		return found // it need not be there
	}
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if section, ok := strings.CutPrefix(line, "["); ok {
			name := strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(strings.TrimSpace(section), "]"), "profile "))
			inside = name == set.profile()
		} else if key, value, ok := strings.Cut(line, "="); ok && inside && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			found[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return found
}

// keychain finds the key that signs requests, and remembers where it came from.
type keychain struct {
	credentials.Expiry
	rings []ring
	used  func() // before a key is handed out

	mu   sync.Mutex
	from *ring
	id   string
}

// ring is a place where a key may be.
type ring struct {
	credentials.Provider
	name string
}

// keychain lists where keys may be.
func (set *S3Settings) keychain() *keychain {
	k := &keychain{used: func() {}}
	if set.NoSign {
		return k
	}
	k.rings = []ring{
		{&credentials.Static{Value: credentials.Value{
			AccessKeyID: set.getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: set.getenv("AWS_SECRET_ACCESS_KEY"),
			SessionToken: set.getenv("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4,
		}}, "the environment"},
		{&credentials.FileAWSCredentials{Profile: set.profile()}, "profile " + set.profile()},
	}
	if !strings.EqualFold(set.getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		k.rings = append(k.rings, ring{&credentials.IAM{Client: metadataClient()}, "the machine's metadata"})
	}
	return k
}

// metadataClient asks the services that machines and containers have for keys. Where
// they are comes from the environment; what is asked and answered is secret, so that
// without encryption only addresses of the machine itself will do, no proxy is between,
// and no redirect is followed.
func metadataClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		switch {
		case req.URL.Scheme == "https":
			return http.ProxyFromEnvironment(req)
		case !loopback(req.URL.Hostname()) && !linkLocal(req.URL.Hostname()):
			return nil, lang.Errorf("%s: want https, or an address of this machine", req.URL.Host)
		}
		return nil, nil
	}
	return &http.Client{
		Timeout: time.Second, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// linkLocal reports whether a host is an address that no router passes on, where
// metadata is: 169.254.169.254, fd00:ec2::254.
func linkLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLinkLocalUnicast() || netip.MustParsePrefix("fd00:ec2::/32").Contains(addr))
}

func (k *keychain) credentials() *credentials.Credentials { return credentials.New(k) }

// RetrieveWithCredContext implements credentials.Provider. Without any key requests are
// not signed.
func (k *keychain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.rings {
		v, err := k.rings[i].RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			k.from, k.id = &k.rings[i], v.AccessKeyID
			k.used()
			return v, nil
		}
	}
	k.from, k.id = nil, ""
	k.SetExpiration(time.Now().Add(time.Hour), 0)
	return credentials.Value{SignerType: credentials.SignatureAnonymous}, nil
}

// Retrieve implements credentials.Provider.
func (k *keychain) Retrieve() (credentials.Value, error) { return k.RetrieveWithCredContext(nil) }

// IsExpired implements credentials.Provider.
func (k *keychain) IsExpired() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.from != nil {
		return k.from.IsExpired()
	}
	return k.Expiry.IsExpired()
}

// found reports whether there was a key.
func (k *keychain) found() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.from != nil
}

// key describes the key that signed requests, without what is secret of it.
func (s *s3) key() string {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	switch id := s.keys.id; {
	case s.set.NoSign:
		return "without a signature (--s3-no-sign)"
	case s.keys.from == nil && s.set.getenv("AWS_ACCESS_KEY_ID") != "":
		return "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not"
	case s.keys.from == nil:
		return "no key found (AWS_ACCESS_KEY_ID, AWS_PROFILE)"
	case len(id) < 12:
		return "key " + id[:min(2, len(id))] + ".. from " + s.keys.from.name
	default:
		return "key " + id[:4] + ".." + id[len(id)-4:] + " from " + s.keys.from.name
	}
}
