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

// Options describes the environment of a check. The zero value checks for the newest release on
// unknown hardware and accesses neither files nor environment.
type Options struct {
	// Schema forces a schema; SchemaUnknown detects it.
	Schema Schema
	// TargetVersion is the release that will read the file: a CANN release for ACL and GE, a
	// MindSpore release for MindSpore files. The zero value is the newest.
	TargetVersion Version
	// SoC is the product, such as "Ascend910B", "A2", "310P", or "cpu" and "gpu" for MindSpore
	// without NPU. Empty if unknown.
	SoC string
	// Backend is "ge", "ms_backend", "O0", "O1", "O2" or "pynative"; MindSpore only. Empty if
	// unknown.
	Backend string
	// Devices lists the ids of the devices in use. Empty if unknown.
	Devices []uint64
	// WorldSize is the number of ranks of the job. 0 if unknown.
	WorldSize uint64
	// Stat inspects a folder of the host on which the dump will run; nil forbids access.
	Stat func(path string) PathState
	// Env looks up an environment variable; nil forbids access.
	Env func(name string) (value string, ok bool)
	// Tree is the dump made with this configuration; nil if unknown.
	Tree *Tree
	// Container: the program will run in a container.
	Container bool
}

// PathState is the state of a folder for dumps.
type PathState int

// The states of a path.
const (
	PathUsable   PathState = iota // a readable and writable folder
	PathMissing                   // does not exist
	PathNotDir                    // not a folder
	PathNoAccess                  // a folder without read or write permission
)

// lookupEnv returns a variable; false if it is unset or empty.
func (o *Options) lookupEnv(name string) (string, bool) {
	if o.Env == nil {
		return "", false
	}
	v, ok := o.Env(name)
	return v, ok && v != ""
}

// firstEnv returns the first variable that is set, and its value.
func (o *Options) firstEnv(names ...string) (name, value string) {
	for _, name := range names {
		if v, set := o.lookupEnv(name); set {
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

func (o *Options) isCPU() bool    { return o.soc() == "cpu" }
func (o *Options) hasNoNPU() bool { return o.isCPU() || o.soc() == "gpu" }
func (o *Options) isA2A3() bool   { return o.isA2() || o.isA3() }

func (o *Options) isA2() bool {
	s := o.soc()
	return s == "a2" || strings.HasPrefix(s, "910b")
}

func (o *Options) isA3() bool {
	s := o.soc()
	return s == "a3" || strings.HasPrefix(s, "91093") || strings.HasPrefix(s, "910c")
}

// backend returns the backend in lower case.
func (o *Options) backend() string { return strings.ToLower(o.Backend) }

// isGraphEngine reports whether MindSpore runs graphs with the graph engine.
func (o *Options) isGraphEngine() bool { return o.backend() == "ge" || o.backend() == "o2" }

// isKernelByKernel reports whether MindSpore launches kernels itself.
func (o *Options) isKernelByKernel() bool {
	switch o.backend() {
	case "ms_backend", "o0", "o1":
		return true
	default:
		return false
	}
}

// needsMsprobe reports whether the release no longer dumps with this backend.
func (o *Options) needsMsprobe() bool {
	return o.isGraphEngine() && !o.hasNoNPU() && !o.TargetVersion.IsBefore(sinceMS26)
}

// lacksE2EDump reports whether the framework cannot dump with this backend.
func (o *Options) lacksE2EDump() bool {
	return o.isGraphEngine() && !o.hasNoNPU() && !o.TargetVersion.IsBefore(sinceMS23)
}

// needsE2ESettings reports whether MindSpore needs e2e_dump_settings. For an unknown backend it
// assumes the release's default.
func (o *Options) needsE2ESettings() bool {
	switch {
	case o.isKernelByKernel() || o.hasNoNPU():
		return true
	case o.isGraphEngine():
		return false
	default:
		return !o.TargetVersion.IsBefore(sinceMS24)
	}
}

// Version is a release such as 8.0, 8.0.RC3 or 2.3.1. The zero value is the newest release.
type Version struct {
	Major, Minor int
	// Candidate is the number of a release candidate, 0 for the release.
	Candidate int
}

// ParseVersion parses "8.0", "8.0.RC3", "2.3.1" or "8"; parts behind the second number count only
// if they are a release candidate.
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

// IsBefore reports whether v is an earlier release than w. The newest release is before no other.
func (v Version) IsBefore(w Version) bool {
	if v.IsNewest() {
		return false
	}
	if w.IsNewest() {
		return true
	}
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.candidateRank(), w.candidateRank())) < 0
}

// lacks reports whether v is too early for a feature of w. If w is no release candidate, the
// candidates of that release have the feature too.
func (v Version) lacks(w Version) bool {
	if w.Candidate == 0 && v.Major == w.Major && v.Minor == w.Minor {
		return false
	}
	return v.IsBefore(w)
}

// candidateRank orders release candidates before the release.
func (v Version) candidateRank() int {
	if v.Candidate == 0 {
		return 1 << 30
	}
	return v.Candidate
}

// String returns the version in the form that ParseVersion reads.
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

// ReadFile reads a configuration, or stdin for the name Stdin, until ctx is done. It reads at most
// one byte more than MaxSize. Errors name the file.
func ReadFile(ctx context.Context, name string, stdin io.Reader) ([]byte, error) {
	var text []byte
	// A read cannot be interrupted: when ctx is done the goroutine is left behind.
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
	return text, binaryFileError(name, text)
}

// binaryFileError returns an error that identifies a binary file given as a configuration: a tensor file,
// or another kind with zero bytes. It returns nil for possible texts.
func binaryFileError(name string, text []byte) error {
	if _, wide := jsonpos.FromUTF16(text); wide || bytes.IndexByte(text, 0) < 0 {
		return nil
	}
	f, err := tensorfile.Open(name, tensorfile.Options{})
	foreign, known := errors.AsType[*tensorfile.ForeignError](err)
	switch {
	case known && foreign.Kind != nil:
		return lang.Errorf("%s is %s, not a configuration", name, foreign.Kind.Name)
	case known: // a text with a zero byte
		return nil
	case err != nil:
		return lang.Errorf("%s is no configuration: %v", name, err)
	}
	defer f.Close()
	what := lang.Say("a file of tensors (%s)", f.Container)
	if f.Op != nil {
		what = lang.Say("a dump of an operator (CANN)")
	}
	return lang.Errorf("%s is %s, not a configuration; to look at its tensors: %s", name, what, lang.CommandLine("inspect", lang.PathArgument(name)))
}

// StatFolder returns the state of a local folder for this user.
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

// IsInContainer reports whether this process runs in a Docker or Podman container.
func IsInContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return false
}
