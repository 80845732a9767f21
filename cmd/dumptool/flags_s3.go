package main

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dumptool/internal/lang"
	"dumptool/internal/store"
)

// s3Group is the name of the settings of object storage in files, and s3Prefix the
// beginning of their flags.
const (
	s3Group  = "s3"
	s3Prefix = "s3-"
)

// s3Flags are the flags of object storage, which every command has and the help of the
// program alone lists. Keys are no flags: they would stand in lists of processes.
func (o *globalOptions) s3Flags() []cmdFlag {
	s := &o.s3
	s.PathStyle, s.Block, s.Cache, s.Spool, s.Concurrency, s.RetryTime = "auto", 8<<20, 64<<20, store.Spool, store.Concurrency, store.RetryTime
	return []cmdFlag{
		{"s3-endpoint", text(&s.Endpoint), "`URL` of the object storage; default: AWS_ENDPOINT_URL_S3, else AWS", "对象存储的 `URL`；默认 AWS_ENDPOINT_URL_S3，否则为 AWS", storage, 0},
		{"s3-region", text(&s.Region), "its `REGION`; default: AWS_REGION, else as the endpoint says", "对象存储的 `REGION`；默认 AWS_REGION，否则按其地址", storage, 0},
		{"s3-path-style", choice(&s.PathStyle, []string{"auto", "on", "off"}), "buckets in the path, not in the name of the host; auto: but for AWS and OBS", "桶名在路径中，而不在主机名中；auto：AWS 和 OBS 除外", storage, 0},
		{"s3-no-sign", yes(&s.NoSign), "do not sign requests, for public buckets", "请求不签名，用于公开的桶", storage, 0},
		{"s3-block", (*sizeFlag)(&s.Block), "bytes of a request that reads", "一次读请求的字节数", storage, 0},
		{"s3-concurrency", whole(&s.Concurrency, math.MinInt, math.MaxInt, "want a number"), "requests that read at the same time", "同时进行的读请求数", storage, 0},
		{"s3-retry-time", duration(&s.RetryTime), "for how long a request that fails is tried again", "失败的请求重试多长时间", storage, 0},
		{"s3-cache", (*sizeFlag)(&s.Cache), "bytes of objects in memory", "内存中对象的字节数", storage, 0},
		{"s3-spool", (*sizeFlag)(&s.Spool), "bytes of objects in $TMPDIR, of what is read again and memory has no room for", "会重复读取而内存放不下的对象在 $TMPDIR 中的字节数", storage, 0},
	}
}

// isS3 reports whether a flag is one of object storage.
func isS3(f *pflag.Flag) bool { return strings.HasPrefix(f.Name, s3Prefix) && f.Name != abortStaleFlag }

// abortStaleFlag is the flag that removes uploads of killed processes.
const abortStaleFlag = "s3-abort-stale"

// abortStale removes uploads below out that were begun that long ago.
func (a *app) abortStale(out string, age time.Duration) error {
	switch {
	case age < 0:
		return usagef("--%s %v: want a time such as 24h", abortStaleFlag, age)
	case !store.Remote(out):
		return usagef("--%s is for -out s3://bucket/key, not for %s", abortStaleFlag, out)
	}
	removed, err := store.AbortStale(out, time.Now().Add(-age))
	for _, u := range removed {
		a.msg.Infof("%s", a.inLang(lang.Sayf("%s: removed the parts of an upload that was begun at %s", "%s：已清除 %s 开始的未完成上传",
			u.Path, u.Begun.UTC().Format(time.DateTime))))
	}
	if err == nil && len(removed) == 0 {
		a.msg.Infof("%s", a.inLang(lang.Sayf("%s: no uploads that were begun more than %v ago", "%s：没有 %v 之前开始的未完成上传", out, age)))
	}
	return err
}

// useStore says how object storage is reached. It is not reached before the first path
// that needs it.
func (a *app) useStore(ctx context.Context) error {
	set := a.global.s3
	set.Context, set.Getenv = ctx, a.getenv
	if set.Spool == 0 {
		set.Spool = -1 // none
	}
	set.Note = func(note lang.Sentence) { a.msg.Infof("%s", a.inLang(note)) }
	if err := set.Check(); err != nil {
		return usagef("object storage: %v", err)
	}
	store.UseObjects(func() (store.Objects, error) { return store.NewS3(set) })
	return nil
}

// sizeFlag is a number of bytes.
type sizeFlag int64

// sizeUnits are the units of sizes, powers of 1024.
var sizeUnits = []string{"", "KiB", "MiB", "GiB"}

// sizeForm is a size.
var sizeForm = lang.Pattern(`^([0-9]+) ?(?:([kKmMgG])(?:[iI]?[bB])?|[bB])?$`)

// Set implements the value of a flag.
func (s *sizeFlag) Set(text string) error {
	m := sizeForm().FindStringSubmatch(text)
	if m == nil {
		return lang.Errorf("want a size such as 8MiB")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	shift := 10 * (1 + strings.Index("kmg", strings.ToLower(m[2])))
	if m[2] == "" {
		shift = 0
	}
	if err != nil || n > 1<<40>>shift {
		return lang.Errorf("want at most 1024 GiB")
	}
	*s = sizeFlag(n << shift)
	return nil
}

// String implements the value of a flag.
func (s *sizeFlag) String() string {
	n, unit := int64(*s), 0
	for n != 0 && n%1024 == 0 && unit+1 < len(sizeUnits) {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + sizeUnits[unit]
}

// Type implements the value of a flag.
func (s *sizeFlag) Type() string { return "size" }
