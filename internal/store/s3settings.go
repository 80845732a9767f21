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

// S3Settings configure access to S3-compatible storage. The zero value means the defaults. Missing
// settings come from the usual variables and files: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL,
// AWS_REGION, AWS_PROFILE, AWS_CA_BUNDLE, AWS_CONFIG_FILE. Keys come only from there:
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, AWS_SHARED_CREDENTIALS_FILE, and
// last from the metadata service of the machine unless AWS_EC2_METADATA_DISABLED is true.
type S3Settings struct {
	Endpoint  string // URL; default: AWS
	Region    string // default: from the endpoint, else us-east-1
	PathStyle string // auto, on or off; default: auto
	NoSign    bool   // anonymous requests, for public buckets

	Block       int64         // bytes of a read request; default: 8 MiB
	Cache       int64         // bytes of objects in memory; default: 64 MiB
	Spool       int64         // bytes of objects in $TMPDIR, below 0 for none; default: 8 GiB
	Concurrency int           // concurrent read requests; default: 64
	RetryTime   time.Duration // retries of a request end after this time; default: 5 minutes

	// Context cancels waits between retries.
	Context context.Context
	// Note, if not nil, is told what the server cannot do.
	Note func(lang.Sentence)
	// Getenv replaces os.Getenv if not nil.
	Getenv func(string) string

	endpointFrom string        // source of the endpoint
	firstWait    time.Duration // first backoff; default: firstWait
	stall        time.Duration // a read request fails after this time without any byte; default: by RetryTime
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

// Check returns an error for invalid values.
func (set S3Settings) Check() error {
	_, err := set.fillDefaults()
	if err == nil && set.Endpoint != "" {
		_, err = parseEndpoint(set.Endpoint)
	}
	return err
}

// fillDefaults fills in defaults.
func (set S3Settings) fillDefaults() (S3Settings, error) {
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
		return set, lang.Errorf("a block must have from 256 KiB to 256 MiB")
	case set.Cache < set.Block:
		return set, lang.Errorf("the cache must hold at least one block")
	case set.Concurrency < 1 || set.Concurrency > 1000:
		return set, lang.Errorf("from 1 to 1000 requests at the same time are possible")
	case set.RetryTime < 0 || set.RetryTime > maxRetryTime:
		return set, lang.Errorf("requests are retried for at most 24 hours")
	}
	return set, nil
}

// fillFromEnvironment fills in values of the environment and of files.
func (set *S3Settings) fillFromEnvironment() {
	config := set.profileSettings()
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

// serverURL returns the URL of the server.
func (set *S3Settings) serverURL() (*url.URL, error) {
	if set.Endpoint != "" {
		return parseEndpoint(set.Endpoint)
	}
	host := "s3." + set.Region + ".amazonaws.com"
	if strings.HasPrefix(set.Region, "cn-") {
		host += ".cn"
	}
	return &url.URL{Scheme: "https", Host: host}, nil
}

// hasVirtualHost reports whether bucket names are part of the host name.
func (set *S3Settings) hasVirtualHost(host string) bool {
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

// regionOf returns the region in the name of an endpoint: s3.REGION.amazonaws.com,
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

// profile returns the profile in the AWS files.
func (set *S3Settings) profile() string { return cmp.Or(set.getenv("AWS_PROFILE"), "default") }

func (set *S3Settings) configFile() string {
	if name := set.getenv("AWS_CONFIG_FILE"); name != "" {
		return name
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "" // not a file of the working folder
	}
	return filepath.Join(home, ".aws", "config")
}

// profileSettings returns the settings of the profile in AWS's configuration file. Indented settings of a
// service are ignored.
func (set *S3Settings) profileSettings() map[string]string {
	found := map[string]string{}
	f, err := os.Open(set.configFile())
	if err != nil {
		return found // the file is optional
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
