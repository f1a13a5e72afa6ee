# Written from dockerfiles/images.yaml and dockerfiles/versions.json by: gauntlet images bake
# Do not edit it: a test compares.

# Host and path that images are pushed to; empty: they stay here.
variable "REGISTRY" {
  default = ""
}
# How layers are kept: those of all stages, packed well.
variable "ALL" {
  default = "mode=max,compression=zstd"
}
# Host and path of layers kept for later builds; empty: none are.
variable "CACHE" {
  default = ""
}
# Further tags, split by commas; `gauntlet images build` gives the content's.
variable "KEY_TAGS" {
  default = ""
}
# Version, as the label says it.
variable "VERSION" {
  default = ""
}
# Time of the commit, as the label says it.
variable "CREATED" {
  default = "1970-01-01T00:00:00Z"
}
# Time of the commit in seconds: that of every file in a layer.
variable "SOURCE_DATE_EPOCH" {
  default = "0"
}
# The commit that is built.
variable "COMMIT" {
  default = ""
}
# Its parent.
variable "PARENT" {
  default = ""
}
# Where its branch left main.
variable "MERGE_BASE" {
  default = ""
}
# Its branch, as a tag can be written.
variable "BRANCH" {
  default = ""
}
# 1 in builds of main: these alone write main's cache and the compiler's.
variable "IS_MAIN" {
  default = ""
}
# Where the compiler's cache is; empty: on the builder.
variable "SCCACHE_BUCKET" {
  default = ""
}
# Region of that.
variable "SCCACHE_REGION" {
  default = ""
}

# python:3.11-slim-bookworm
variable "BASE_PYTHON" {
  default = "python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b"
}
# nvidia/cuda:12.9.1-devel-ubuntu24.04
variable "BASE_CUDA_TOOLCHAIN" {
  default = "nvidia/cuda:12.9.1-devel-ubuntu24.04@sha256:020bc241a628776338f4d4053fed4c38f6f7f3d7eb5919fecb8de313bb8ba47c"
}
# nvidia/cuda:12.9.1-runtime-ubuntu24.04
variable "BASE_CUDA_RUNTIME" {
  default = "nvidia/cuda:12.9.1-runtime-ubuntu24.04@sha256:1287141d283b8f06f45681b56a48a85791398c615888b1f96bfb9fc981392d98"
}
# rocm/dev-ubuntu-24.04:7.2.1-complete; nobody asked for its digest yet
variable "BASE_ROCM" {
  default = ""
}
# intel/deep-learning-essentials:2025.3.2-0-devel-ubuntu24.04; nobody asked for its digest yet
variable "BASE_XPU" {
  default = ""
}

# Folder of the context 'engine'.
variable "CONTEXT_ENGINE" {
  default = ""
}
# Folder of the context 'torch'.
variable "CONTEXT_TORCH" {
  default = ""
}

# The nearest first: of several caches that have a layer, the first is taken.
function "cache_from" {
  params = [name]
  result = notequal("", CACHE) ? compact([
    notequal("", COMMIT) ? "type=registry,ref=${CACHE}/${name}:commit-${COMMIT}" : "",
    notequal("", PARENT) ? "type=registry,ref=${CACHE}/${name}:commit-${PARENT}" : "",
    notequal("", MERGE_BASE) ? "type=registry,ref=${CACHE}/${name}:commit-${MERGE_BASE}" : "",
    notequal("", BRANCH) ? "type=registry,ref=${CACHE}/${name}:branch-${BRANCH}" : "",
    "type=registry,ref=${CACHE}/${name}:main",
  ]) : []
}

function "cache_to" {
  params = [name]
  result = notequal("", CACHE) ? compact([
    notequal("", COMMIT) ? "type=registry,ref=${CACHE}/${name}:commit-${COMMIT},${ALL}" : "",
    notequal("", BRANCH) ? "type=registry,ref=${CACHE}/${name}:branch-${BRANCH},${ALL}" : "",
    equal("1", IS_MAIN) ? "type=registry,ref=${CACHE}/${name}:main,${ALL}" : "",
  ]) : []
}

function "tags" {
  params = [name]
  result = notequal("", REGISTRY) ? compact(concat(
    [notequal("", COMMIT) ? "${REGISTRY}/${name}:commit-${COMMIT}" : ""],
    [for tag in split(",", KEY_TAGS) : notequal("", tag) ? "${REGISTRY}/${name}:${tag}" : ""],
  )) : ["${name}:local"]
}

group "default" {
  targets = ["gauntlet-agent", "gauntlet-hud", "gauntlet-cron", "gauntlet-test", "engine-cuda", "engine-cuda-test", "engine-rocm", "engine-rocm-test", "engine-cpu", "engine-cpu-test", "engine-cpu-arm64", "engine-cpu-arm64-test", "engine-xpu", "engine-xpu-test"]
}

group "tools" {
  targets = ["gauntlet-agent", "gauntlet-hud", "gauntlet-cron"]
}

group "gauntlet" {
  targets = ["gauntlet-agent", "gauntlet-hud", "gauntlet-cron", "gauntlet-test"]
}

group "release" {
  targets = ["engine-cuda", "engine-rocm", "engine-cpu", "engine-cpu-arm64", "engine-xpu"]
}

group "engine" {
  targets = ["engine-cuda", "engine-cuda-test", "engine-rocm", "engine-rocm-test", "engine-cpu", "engine-cpu-test", "engine-cpu-arm64", "engine-cpu-arm64-test", "engine-xpu", "engine-xpu-test"]
}

# What CI agents run: selection, uploads, gates, bisects.
target "gauntlet-agent" {
  context    = "."
  dockerfile = "dockerfiles/gauntlet.Dockerfile"
  target     = "agent"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = tags("gauntlet/agent")
  cache-from = cache_from("gauntlet/agent")
  cache-to   = cache_to("gauntlet/agent")
  secret     = ["id=pip", "id=apt"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  args = {
    "PYTHON_BASE" = BASE_PYTHON
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet-agent"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The pages.
target "gauntlet-hud" {
  context    = "."
  dockerfile = "dockerfiles/gauntlet.Dockerfile"
  target     = "hud"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = tags("gauntlet/hud")
  cache-from = cache_from("gauntlet/hud")
  cache-to   = cache_to("gauntlet/hud")
  secret     = ["id=pip"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  args = {
    "PYTHON_BASE" = BASE_PYTHON
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet-hud"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# Scheduled jobs: measurements, the night, refreshes.
target "gauntlet-cron" {
  context    = "."
  dockerfile = "dockerfiles/gauntlet.Dockerfile"
  target     = "cron"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = tags("gauntlet/cron")
  cache-from = cache_from("gauntlet/cron")
  cache-to   = cache_to("gauntlet/cron")
  secret     = ["id=pip", "id=apt"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  args = {
    "PYTHON_BASE" = BASE_PYTHON
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet-cron"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The tests of Gauntlet, on what the tools run on.
target "gauntlet-test" {
  context    = "."
  dockerfile = "dockerfiles/gauntlet.Dockerfile"
  target     = "test"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = tags("gauntlet/test")
  cache-from = cache_from("gauntlet/test")
  cache-to   = cache_to("gauntlet/test")
  secret     = ["id=pip", "id=apt"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  args = {
    "PYTHON_BASE" = BASE_PYTHON
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet-test"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The engine for CUDA, as it is shipped.
target "engine-cuda" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "release"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = tags("engine/cuda")
  cache-from = cache_from("engine/cuda")
  cache-to   = cache_to("engine/cuda")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = "dockerfiles/no-wheels"
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_CUDA_TOOLCHAIN
    "RUNTIME_BASE" = BASE_CUDA_RUNTIME
    "DEVICE" = "cuda"
    "LOCK" = "cuda"
    "BUILD_LOCK" = "build-cuda"
    "BUILD_PACKAGES" = "g++ git python3-dev python3-pip python3-venv"
    "RUNTIME_PACKAGES" = "g++ libnuma1 python3-dev python3-pip python3-venv"
    "ARCHITECTURES" = "8.0 8.9 9.0 10.0 12.0+PTX"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-cuda"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The same runtime for CUDA, and what its tests need.
target "engine-cuda-test" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "test"
  platforms  = ["linux/amd64", "linux/arm64"]
  tags       = tags("engine/cuda-test")
  cache-from = cache_from("engine/cuda-test")
  cache-to   = cache_to("engine/cuda-test")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = "dockerfiles/no-wheels"
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_CUDA_TOOLCHAIN
    "RUNTIME_BASE" = BASE_CUDA_RUNTIME
    "DEVICE" = "cuda"
    "LOCK" = "cuda"
    "BUILD_LOCK" = "build-cuda"
    "TEST_LOCK" = "test-cuda"
    "BUILD_PACKAGES" = "g++ git python3-dev python3-pip python3-venv"
    "RUNTIME_PACKAGES" = "g++ libnuma1 python3-dev python3-pip python3-venv"
    "ARCHITECTURES" = "8.0 8.9 9.0 10.0 12.0+PTX"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-cuda-test"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The engine for ROCM, as it is shipped.
target "engine-rocm" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "release"
  platforms  = ["linux/amd64"]
  tags       = tags("engine/rocm")
  cache-from = cache_from("engine/rocm")
  cache-to   = cache_to("engine/rocm")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_ROCM
    "RUNTIME_BASE" = BASE_ROCM
    "DEVICE" = "rocm"
    "LOCK" = "rocm"
    "BUILD_LOCK" = "build-rocm"
    "BUILD_PACKAGES" = "g++ git python3-dev python3-pip python3-venv"
    "RUNTIME_PACKAGES" = "g++ libnuma1 python3-dev python3-pip python3-venv"
    "ARCHITECTURES" = "gfx90a;gfx942;gfx950"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-rocm"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The same runtime for ROCM, and what its tests need.
target "engine-rocm-test" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "test"
  platforms  = ["linux/amd64"]
  tags       = tags("engine/rocm-test")
  cache-from = cache_from("engine/rocm-test")
  cache-to   = cache_to("engine/rocm-test")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_ROCM
    "RUNTIME_BASE" = BASE_ROCM
    "DEVICE" = "rocm"
    "LOCK" = "rocm"
    "BUILD_LOCK" = "build-rocm"
    "TEST_LOCK" = "test-rocm"
    "BUILD_PACKAGES" = "g++ git python3-dev python3-pip python3-venv"
    "RUNTIME_PACKAGES" = "g++ libnuma1 python3-dev python3-pip python3-venv"
    "ARCHITECTURES" = "gfx90a;gfx942;gfx950"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-rocm-test"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The engine for CPUs, x86_64, as it is shipped.
target "engine-cpu" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "release"
  platforms  = ["linux/amd64"]
  tags       = tags("engine/cpu")
  cache-from = cache_from("engine/cpu")
  cache-to   = cache_to("engine/cpu")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_PYTHON
    "RUNTIME_BASE" = BASE_PYTHON
    "DEVICE" = "cpu"
    "LOCK" = "cpu"
    "BUILD_LOCK" = "build-cpu"
    "BUILD_PACKAGES" = "g++ git libnuma-dev"
    "RUNTIME_PACKAGES" = "g++ libnuma1 libtcmalloc-minimal4"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-cpu"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The same runtime for CPUs, x86_64, and what its tests need.
target "engine-cpu-test" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "test"
  platforms  = ["linux/amd64"]
  tags       = tags("engine/cpu-test")
  cache-from = cache_from("engine/cpu-test")
  cache-to   = cache_to("engine/cpu-test")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_PYTHON
    "RUNTIME_BASE" = BASE_PYTHON
    "DEVICE" = "cpu"
    "LOCK" = "cpu"
    "BUILD_LOCK" = "build-cpu"
    "TEST_LOCK" = "test-cpu"
    "BUILD_PACKAGES" = "g++ git libnuma-dev"
    "RUNTIME_PACKAGES" = "g++ libnuma1 libtcmalloc-minimal4"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-cpu-test"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The engine for CPUs, arm64, as it is shipped.
target "engine-cpu-arm64" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "release"
  platforms  = ["linux/arm64"]
  tags       = tags("engine/cpu-arm64")
  cache-from = cache_from("engine/cpu-arm64")
  cache-to   = cache_to("engine/cpu-arm64")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_PYTHON
    "RUNTIME_BASE" = BASE_PYTHON
    "DEVICE" = "cpu"
    "LOCK" = "cpu-arm64"
    "BUILD_LOCK" = "build-cpu-arm64"
    "BUILD_PACKAGES" = "g++ git libnuma-dev"
    "RUNTIME_PACKAGES" = "g++ libnuma1 libtcmalloc-minimal4"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-cpu-arm64"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The same runtime for CPUs, arm64, and what its tests need.
target "engine-cpu-arm64-test" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "test"
  platforms  = ["linux/arm64"]
  tags       = tags("engine/cpu-arm64-test")
  cache-from = cache_from("engine/cpu-arm64-test")
  cache-to   = cache_to("engine/cpu-arm64-test")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_PYTHON
    "RUNTIME_BASE" = BASE_PYTHON
    "DEVICE" = "cpu"
    "LOCK" = "cpu-arm64"
    "BUILD_LOCK" = "build-cpu-arm64"
    "TEST_LOCK" = "test-cpu-arm64"
    "BUILD_PACKAGES" = "g++ git libnuma-dev"
    "RUNTIME_PACKAGES" = "g++ libnuma1 libtcmalloc-minimal4"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-cpu-arm64-test"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The engine for XPU, as it is shipped.
target "engine-xpu" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "release"
  platforms  = ["linux/amd64"]
  tags       = tags("engine/xpu")
  cache-from = cache_from("engine/xpu")
  cache-to   = cache_to("engine/xpu")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_XPU
    "RUNTIME_BASE" = BASE_XPU
    "DEVICE" = "xpu"
    "LOCK" = "xpu"
    "BUILD_LOCK" = "build-xpu"
    "BUILD_PACKAGES" = "g++ git python3-dev python3-pip python3-venv"
    "RUNTIME_PACKAGES" = "g++ libnuma1 python3-dev python3-pip python3-venv"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-xpu"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}

# The same runtime for XPU, and what its tests need.
target "engine-xpu-test" {
  context    = "."
  dockerfile = "dockerfiles/engine.Dockerfile"
  target     = "test"
  platforms  = ["linux/amd64"]
  tags       = tags("engine/xpu-test")
  cache-from = cache_from("engine/xpu-test")
  cache-to   = cache_to("engine/xpu-test")
  secret     = ["id=pip", "id=apt", "id=sccache"]
  output     = ["type=${notequal("", REGISTRY) ? "registry" : "docker"},rewrite-timestamp=true"]
  contexts = {
    "engine" = CONTEXT_ENGINE
    "torch" = CONTEXT_TORCH
  }
  args = {
    "TOOLCHAIN_BASE" = BASE_XPU
    "RUNTIME_BASE" = BASE_XPU
    "DEVICE" = "xpu"
    "LOCK" = "xpu"
    "BUILD_LOCK" = "build-xpu"
    "TEST_LOCK" = "test-xpu"
    "BUILD_PACKAGES" = "g++ git python3-dev python3-pip python3-venv"
    "RUNTIME_PACKAGES" = "g++ libnuma1 python3-dev python3-pip python3-venv"
    "SOURCE_DATE_EPOCH" = SOURCE_DATE_EPOCH
    "SCCACHE_BUCKET" = SCCACHE_BUCKET
    "SCCACHE_REGION" = SCCACHE_REGION
    "SCCACHE_MODE" = equal("1", IS_MAIN) ? "READ_WRITE" : "READ_ONLY"
    "ENGINE_VERSION" = VERSION
  }
  labels = {
    "org.opencontainers.image.title" = "gauntlet engine-xpu-test"
    "org.opencontainers.image.version" = VERSION
    "org.opencontainers.image.revision" = COMMIT
    "org.opencontainers.image.source" = "https://code.example.org/gauntlet/gauntlet"
    "org.opencontainers.image.created" = CREATED
  }
}
