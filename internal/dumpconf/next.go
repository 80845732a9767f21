package dumpconf

import (
	"strings"

	"dumptool/internal/lang"
)

// say adds a next step.
func (b *builder) say(key string, args ...any) {
	b.steps = append(b.steps, text(key, args...))
}

// placeholders adds a step for each placeholder that is left.
func (b *builder) placeholders() {
	for i, f := range b.Fields {
		if f.Placeholder && !b.wants(f.Key) && b.chosen[i] != nil {
			b.say("next.placeholder", f.Key, list(b.chosen[i]))
		}
	}
}

// nextStep adds the step of a key with its arguments, or those that it stands for.
func (b *builder) nextStep(key string) {
	path := b.value("dump_path")
	switch {
	case key == "next.folder" && path == "": // the environment decides
	case key == "next.folder" && isRemote(path):
		b.say("next.remote-folder", printable(path))
	case key == "next.folder":
		b.say(key, lang.Quote(printable(path)))
	case key == "next.analyze":
		b.say(key, lang.Quote(printable(localPath(path))))
	case key == "next.exception-folder":
		b.say(key, text("where.exception-order"))
	case key == "next.large-model" && b.opt.TargetVersion.Before(sinceCANN70):
		b.say("next.large-model-old")
	case key == "next.large-network" && b.opt.TargetVersion.Before(sinceMS16):
		b.say("next.large-network-old")
	case key == "next.ms-files":
		b.say(key, printable(b.value("path")))
	case key == nextOfBackend:
		b.backendSteps()
	default:
		b.say(key)
	}
}

// nextOfBackend stands for the steps that depend on who dumps.
const nextOfBackend = "backend"

// backendSteps adds what depends on who dumps.
func (b *builder) backendSteps() {
	target := b.opt.TargetVersion
	switch {
	case b.opt.leftToMsprobe():
		b.say("next.left-to-msprobe")
		return
	case b.byFramework() && b.opt.withoutE2EDump():
		b.say("next.no-e2e-dump")
		return
	case b.byFramework():
		b.say("next.sink-mode")
		return
	case target.Before(sinceMS23): // the device dumps by default
		return
	case target.Before(sinceMS24):
	case target.IsNewest():
		b.say("next.o2-until-26")
	case target.Before(sinceMS26):
		b.say("next.o2-only")
	default:
		b.say("next.release-without-e2e")
		return
	}
	if !b.opt.kernelByKernel() {
		b.say("environment.sink-size")
	}
}

// byFramework reports whether e2e_dump_settings is written.
func (b *builder) byFramework() bool {
	for i, v := range b.chosen {
		if v != nil && b.Fields[i].table == &mindSporeE2E {
			return true
		}
	}
	return false
}

// localPath is the folder of a path, also on another host.
func localPath(path string) string {
	if !isRemote(path) {
		return path
	}
	_, folder, _ := strings.Cut(path, ":")
	return folder
}
