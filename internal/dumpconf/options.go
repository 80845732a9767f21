package dumpconf

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"dumptool/internal/guard"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/tensorfile"
)

// Options say what is known beside the text. The zero value checks for the
// newest release on unknown hardware and leaves file system and environment
// alone.
type Options struct {
	// Schema forces a schema; SchemaUnknown finds it out.
	Schema Schema
	// TargetVersion is the release the file is for: of CANN for ACL and GE,
	// of MindSpore for MindSpore files. The zero value is the newest.
	TargetVersion Version
	// SoC is the product, such as "Ascend910B", "A2", "310P", or "cpu" and
	// "gpu" for MindSpore without NPU. Empty when unknown.
	SoC string
	// Backend is "ge", "ms_backend", "O0", "O1", "O2" or "pynative"; MindSpore
	// only. Empty when unknown.
	Backend string
	// Devices are the device ids that will be used. Empty when unknown.
	Devices []uint64
	// WorldSize is the number of ranks of the job. 0 when unknown.
	WorldSize uint64
	// Stat looks at a folder of the host the dump will run on. It is nil when
	// the file system must not be asked.
	Stat func(path string) PathState
	// Env looks a variable of the environment up. It is nil when the
	// environment must not be asked.
	Env func(name string) (value string, ok bool)
	// Tree is the dump that the configuration has made; nil when it is not known.
	Tree *Tree
	// Container says that the program will run in a container.
	Container bool
}

// PathState is what can be said about a folder for dumps.
type PathState int

// The states of a path.
const (
	PathUsable   PathState = iota // a folder that can be read and written
	PathMissing                   // nothing there
	PathNotDir                    // something else than a folder
	PathNoAccess                  // a folder that may not be read or written
)

// env returns a variable that is set and not empty.
func (o *Options) env(name string) (string, bool) {
	if o.Env == nil {
		return "", false
	}
	v, ok := o.Env(name)
	return v, ok && v != ""
}

// firstEnv returns the first of some variables that is set, and its value.
func (o *Options) firstEnv(names ...string) (name, value string) {
	for _, name := range names {
		if v, set := o.env(name); set {
			return name, v
		}
	}
	return "", ""
}

func (o *Options) soc() string {
	s := strings.ToLower(o.SoC)
	for _, drop := range []string{"ascend", "atlas", " ", "-", "_"} {
		s = strings.ReplaceAll(s, drop, "")
	}
	return s
}

func (o *Options) isCPU() bool  { return o.soc() == "cpu" }
func (o *Options) isGPU() bool  { return o.soc() == "gpu" }
func (o *Options) noNPU() bool  { return o.isCPU() || o.isGPU() }
func (o *Options) isA2A3() bool { return o.isA2() || o.isA3() }

func (o *Options) isA2() bool {
	s := o.soc()
	return s == "a2" || strings.HasPrefix(s, "910b")
}

func (o *Options) isA3() bool {
	s := o.soc()
	return s == "a3" || strings.HasPrefix(s, "91093") || strings.HasPrefix(s, "910c")
}

// backend returns the backend in a fixed spelling.
func (o *Options) backend() string { return strings.ToLower(o.Backend) }

// graphEngine reports whether MindSpore hands graphs to the graph engine.
func (o *Options) graphEngine() bool { return o.backend() == "ge" || o.backend() == "o2" }

// kernelByKernel reports whether MindSpore launches kernels itself.
func (o *Options) kernelByKernel() bool {
	switch o.backend() {
	case "ms_backend", "o0", "o1":
		return true
	default:
		return false
	}
}

// leftToMsprobe reports whether the release does not dump with the backend any
// more.
func (o *Options) leftToMsprobe() bool {
	return o.graphEngine() && !o.noNPU() && !o.TargetVersion.Before(sinceMS26)
}

// withoutE2EDump reports whether the backend has no dump by the framework.
func (o *Options) withoutE2EDump() bool {
	return o.graphEngine() && !o.noNPU() && !o.TargetVersion.Before(sinceMS23)
}

// frameworkDumps reports whether MindSpore needs e2e_dump_settings. With an
// unknown backend it is what the release makes the usual case.
func (o *Options) frameworkDumps() bool {
	switch {
	case o.kernelByKernel() || o.noNPU():
		return true
	case o.graphEngine():
		return false
	default:
		return !o.TargetVersion.Before(sinceMS24)
	}
}

// Version is a release such as 8.0, 8.0.RC3 or 2.3.1. The zero value stands
// for the newest release.
type Version struct {
	Major, Minor int
	// Candidate is the number of a release candidate, 0 for the release.
	Candidate int
}

// ParseVersion reads "8.0", "8.0.RC3", "2.3.1" or "8"; what follows the second
// number counts only when it is a release candidate.
func ParseVersion(text string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(strings.ToLower(text), "r"), ".")
	var v Version
	var err error
	if v.Major, err = strconv.Atoi(parts[0]); err != nil || v.Major < 1 {
		return Version{}, lang.Errorf("version %q: wanted a form like 8.0, 8.0.RC3 or 2.4", text)
	}
	for i, part := range parts[1:] {
		rc, isRC := strings.CutPrefix(part, "rc")
		n, err := strconv.Atoi(rc)
		switch {
		case err != nil || n < 0 || isRC && i == 0:
			return Version{}, lang.Errorf("version %q: wanted a form like 8.0, 8.0.RC3 or 2.4", text)
		case isRC:
			v.Candidate = n
		case i == 0:
			v.Minor = n
		}
	}
	return v, nil
}

// IsNewest reports whether v is the zero value.
func (v Version) IsNewest() bool { return v == Version{} }

// Before reports whether v is an earlier release than w. The newest release
// is before none.
func (v Version) Before(w Version) bool {
	if v.IsNewest() {
		return false
	}
	if w.IsNewest() {
		return true
	}
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.candidate(), w.candidate())) < 0
}

// lacks reports whether v is too early for what came with w. Where only the
// release is known, its candidates have it too.
func (v Version) lacks(w Version) bool {
	if w.Candidate == 0 && v.Major == w.Major && v.Minor == w.Minor {
		return false
	}
	return v.Before(w)
}

// candidate orders release candidates before the release.
func (v Version) candidate() int {
	if v.Candidate == 0 {
		return 1 << 30
	}
	return v.Candidate
}

// String writes the version as it is read.
func (v Version) String() string {
	switch {
	case v.IsNewest():
		return "newest"
	case v.Candidate != 0:
		return fmt.Sprintf("%d.%d.RC%d", v.Major, v.Minor, v.Candidate)
	default:
		return fmt.Sprintf("%d.%d", v.Major, v.Minor)
	}
}

// ReadFile reads a configuration, or stdin for the name Stdin, until ctx is done. Of a
// file that is larger than runtimes read it returns a little more than they would.
// Errors name the file.
func ReadFile(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	var text []byte
	// Reading cannot be interrupted: it goes on alone when ctx is done.
	done := make(chan error, 1)
	guard.Go(func() (err error) {
		text, err = readLimited(name, stdin)
		return err
	}, func(err error) { done <- err })
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case err := <-done:
		return text, err
	}
}

func readLimited(name string, stdin io.Reader) ([]byte, error) {
	if name == Stdin {
		text, err := io.ReadAll(io.LimitReader(stdin, MaxSize+1))
		if err != nil {
			return nil, lang.Errorf("cannot read stdin: %w", err)
		}
		return text, nil
	}
	f, err := safefile.Open(name)
	if err != nil {
		return nil, safefile.WithPath(name, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, safefile.WithPath(name, err)
	}
	return text, noConfig(name, text)
}

// noConfig says what a file is that was given in place of a configuration: one of tensors,
// or of another kind that has zero bytes. It is nil for all that a text may be.
func noConfig(name string, text []byte) error {
	if _, wide := jsonpos.FromUTF16(text); wide || bytes.IndexByte(text, 0) < 0 {
		return nil
	}
	f, err := tensorfile.Open(name, tensorfile.Options{})
	foreign, known := errors.AsType[*tensorfile.ForeignError](err)
	switch {
	case known && foreign.Kind != nil:
		return lang.Errorf("%s is %s, not a configuration", name, foreign.Kind.Name)
	case known: // a text with a zero byte in it
		return nil
	case err != nil:
		return lang.Errorf("%s is no configuration: %v", name, err)
	}
	defer f.Close()
	what := lang.Sayf("a file of tensors (%s)", "张量文件(%s)", f.Container)
	if f.Op != nil {
		what = lang.Sayf("a dump of an operator (CANN)", "算子的 dump(CANN)")
	}
	return lang.Errorf("%s is %s, not a configuration; to look at its tensors: %s", name, what, lang.CommandLine("inspect", lang.PathArgument(name)))
}

// StatFolder says what a folder for dumps is like for this user. Runtimes write to local
// ones only.
func StatFolder(path string) PathState {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return PathNoAccess
	case err != nil:
		return PathMissing
	case !info.IsDir():
		return PathNotDir
	case !mayUseFolder(path):
		return PathNoAccess
	}
	return PathUsable
}

// InContainer reports whether this process runs in a container of Docker or
// Podman.
func InContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}
