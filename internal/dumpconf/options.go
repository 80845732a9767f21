package dumpconf

import "strings"

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
