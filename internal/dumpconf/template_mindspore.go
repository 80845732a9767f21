package dumpconf

func mindSporeTemplates() []template {
	common := func(saved templateKey) []templateKey {
		return []templateKey{
			inCommon.key("dump_mode").oneOf("0", "1", "2").with("0").by(modeForKernels),
			inCommon.key("path").holding(folderPlaceholder), inCommon.key("net_name").holding("my_net"),
			inCommon.key("iteration").with("0"), saved,
			inCommon.key("input_output").oneOf("0", "1", "2").with("0"),
			inCommon.key("kernels").with(),
			inCommon.key("support_device").with("0").by(usedDevices),
			inCommon.key("op_debug_mode").always("0"),
		}
	}
	saved, format := inCommon.key("saved_data"), inCommon.key("file_format").with("npy")
	e2e, trans, calc := inE2E.key("enable"), inE2E.key("trans_flag").with("true"), inE2E.key("stat_calc_mode")
	async := func(mode string) []templateKey {
		return []templateKey{
			inAsync.key("enable").by(beforeMS12("true")).always(),
			inAsync.key("op_debug_mode").by(beforeMS12(mode)).always(),
		}
	}
	steps := []string{"next.ms-variable", "next.ms-files", "next.devices", nextOfBackend}
	return []template{
		{
			name: "ms-e2e", schema: SchemaMindSpore, next: append(steps, "next.large-network"),
			keys: append(common(saved.with("tensor")), e2e.with("true"), trans, calc,
				inE2E.key("sample_mode").oneOf("0", "1"), inE2E.key("sample_num"), inE2E.key("save_kernel_args")),
		},
		{
			name: "ms-async", schema: SchemaMindSpore, next: append(steps, "next.large-network"),
			keys: append(append(common(saved.with("tensor")), format), async("0")...),
		},
		{
			name: "ms-overflow", schema: SchemaMindSpore, next: steps,
			keys: append([]templateKey{
				inCommon.key("dump_mode").always("0"),
				inCommon.key("path").holding(folderPlaceholder), inCommon.key("net_name").holding("my_net"),
				inCommon.key("iteration").with("all"),
				inCommon.key("input_output").always("0"),
				inCommon.key("kernels").always(),
				inCommon.key("support_device").with("0").by(usedDevices),
				inCommon.key("op_debug_mode").always("3"),
				inCommon.key("overflow_number"),
				format.by(withoutE2E("npy")),
				e2e.with("true").by(withE2E("true")), trans.by(withE2E("true")),
			}, async("3")...),
		},
		{
			name: "ms-stat", schema: SchemaMindSpore, since: sinceMS16, next: steps,
			keys: append(common(saved.always("statistic")),
				inCommon.key("statistic_category").oneOf(hostStatistics...).with("max", "min", "l2norm"),
				format.by(withoutE2E("npy")),
				e2e.with("false").by(withE2E("false")), trans.by(withE2E("true")), calc.with("host").by(withE2E("host"))),
		},
	}
}

// modeForKernels uses kernels when they are given.
func modeForKernels(b *builder) []string {
	if b.wants("kernels") {
		return []string{"1"}
	}
	return []string{"0"}
}

// usedDevices are the devices of the options, or the first.
func usedDevices(b *builder) []string {
	if len(b.opt.Devices) == 0 {
		return []string{"0"}
	}
	return numbers(b.opt.Devices)
}

// beforeMS12 writes a value for releases with async_dump_settings.
func beforeMS12(value string) func(b *builder) []string {
	return where(func(o *Options) bool { return o.TargetVersion.Before(sinceMS12) }, value)
}

// withE2E writes a value where the framework dumps itself and finds what is
// asked for in the common settings, as it does since 1.2.
func withE2E(value string) func(b *builder) []string {
	return where(func(o *Options) bool { return o.frameworkDumps() && !o.TargetVersion.Before(sinceMS12) }, value)
}

// withoutE2E writes a value where the device dumps.
func withoutE2E(value string) func(b *builder) []string {
	return where(func(o *Options) bool { return !o.frameworkDumps() }, value)
}

// where writes values for some targets.
func where(is func(o *Options) bool, values ...string) func(b *builder) []string {
	return func(b *builder) []string {
		if !is(&b.opt) {
			return nil
		}
		return values
	}
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
