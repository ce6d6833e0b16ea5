//! Whose buckets there are, and how each is set up.

/// Whose buckets they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Amazon S3 and every store that speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

impl Provider {
    pub(crate) const ALL: [Self; 3] = [Self::S3, Self::Google, Self::Azure];

    /// How places of it begin, before `://`.
    #[must_use]
    pub fn scheme(self) -> &'static str {
        match self {
            Self::S3 => "s3",
            Self::Google => "gs",
            Self::Azure => "az",
        }
    }

    pub(crate) fn variables(self) -> Variables {
        match self {
            Self::S3 => Variables {
                credentials: "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                setup: "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL",
                token: "AWS_SESSION_TOKEN",
                region: "AWS_REGION",
                endpoint: "AWS_ENDPOINT_URL",
            },
            Self::Google => Variables {
                credentials: "the credentials in GOOGLE_APPLICATION_CREDENTIALS",
                setup: "check GOOGLE_APPLICATION_CREDENTIALS and GOOGLE_BASE_URL",
                token: "GOOGLE_APPLICATION_CREDENTIALS",
                region: "GOOGLE_BASE_URL",
                endpoint: "GOOGLE_BASE_URL",
            },
            Self::Azure => Variables {
                credentials: "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
                setup: "check AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY and AZURE_STORAGE_ENDPOINT",
                token: "AZURE_STORAGE_SAS_TOKEN",
                region: "AZURE_STORAGE_ENDPOINT",
                endpoint: "AZURE_STORAGE_ENDPOINT",
            },
        }
    }
}

/// Names of the environment that a provider is set up with.
pub(crate) struct Variables {
    pub(crate) credentials: &'static str,
    /// What to check if they cannot be used together.
    pub(crate) setup: &'static str,
    pub(crate) token: &'static str,
    pub(crate) region: &'static str,
    pub(crate) endpoint: &'static str,
}
