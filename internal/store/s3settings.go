package store

import (
	"bufio"
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dumptool/internal/lang"
)

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
