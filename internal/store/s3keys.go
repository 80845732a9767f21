package store

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"dumptool/internal/lang"
)

// keychain finds the key that signs requests, and remembers its source.
type keychain struct {
	credentials.Expiry
	sources []keySource
	onUse   func() // called before a key is used

	mu     sync.Mutex
	source *keySource
	id     string
}

// keySource is a possible source of a key.
type keySource struct {
	credentials.Provider
	name string
}

// keychain lists the possible sources of keys in the order of precedence.
func (set *S3Settings) keychain() *keychain {
	k := &keychain{onUse: func() {}}
	if set.NoSign {
		return k
	}
	k.sources = []keySource{
		{&credentials.Static{Value: credentials.Value{
			AccessKeyID: set.getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: set.getenv("AWS_SECRET_ACCESS_KEY"),
			SessionToken: set.getenv("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4,
		}}, "the environment"},
		{&credentials.FileAWSCredentials{Profile: set.profile()}, "profile " + set.profile()},
	}
	if !strings.EqualFold(set.getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		k.sources = append(k.sources, keySource{&credentials.IAM{Client: metadataClient()}, "the machine's metadata"})
	}
	return k
}

// RetrieveWithCredContext implements credentials.Provider. Without a key, requests are not signed.
func (k *keychain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.sources {
		v, err := k.sources[i].RetrieveWithCredContext(cc)
		if err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			k.source, k.id = &k.sources[i], v.AccessKeyID
			k.onUse()
			return v, nil
		}
	}
	k.source, k.id = nil, ""
	k.SetExpiration(time.Now().Add(time.Hour), 0)
	return credentials.Value{SignerType: credentials.SignatureAnonymous}, nil
}

// Retrieve implements credentials.Provider.
func (k *keychain) Retrieve() (credentials.Value, error) { return k.RetrieveWithCredContext(nil) }

// IsExpired implements credentials.Provider.
func (k *keychain) IsExpired() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.source != nil {
		return k.source.IsExpired()
	}
	return k.Expiry.IsExpired()
}

// hasKey reports whether a key was found.
func (k *keychain) hasKey() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.source != nil
}

// describeKey describes, without secrets, the key that signs requests.
func (s *s3) describeKey() string {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	switch id := s.keys.id; {
	case s.set.NoSign:
		return "without a signature (--s3-no-sign)"
	case s.keys.source == nil && s.set.getenv("AWS_ACCESS_KEY_ID") != "":
		return "AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not"
	case s.keys.source == nil:
		return "no key found (AWS_ACCESS_KEY_ID, AWS_PROFILE)"
	case len(id) < 12:
		return "key " + id[:min(2, len(id))] + ".. from " + s.keys.source.name
	default:
		return "key " + id[:4] + ".." + id[len(id)-4:] + " from " + s.keys.source.name
	}
}

// metadataClient returns a client for the metadata services of machines and containers, whose
// addresses come from the environment. Requests and responses are secret: without encryption only
// addresses of this machine are allowed; no proxies, no redirects.
func metadataClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = func(req *http.Request) (*url.URL, error) {
		switch {
		case req.URL.Scheme == "https":
			return http.ProxyFromEnvironment(req)
		case !isLoopback(req.URL.Hostname()) && !isLinkLocal(req.URL.Hostname()):
			return nil, lang.Errorf("%s: want https, or an address of this machine", req.URL.Host)
		}
		return nil, nil
	}
	return &http.Client{
		Timeout: time.Second, Transport: t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// isLinkLocal reports whether a host is a link-local address, as metadata services have:
// 169.254.169.254, fd00:ec2::254.
func isLinkLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && (addr.IsLinkLocalUnicast() || netip.MustParsePrefix("fd00:ec2::/32").Contains(addr))
}
